/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholder. */
int main(void)
{
    return 0;
}
