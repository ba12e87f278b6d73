# SPDX-License-Identifier: Apache-2.0
# Completion of tfrun for bash. Made by `tfrun __complete`; do not edit.

# Asks tfrun for a list: devices, backends, ops.
_tfrun_ask() {
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" __complete "$1" 2>/dev/null)" -- "$cur"))
    # Names hold a colon, at which bash splits words.
    if declare -F __ltrim_colon_completions >/dev/null; then
        __ltrim_colon_completions "$cur"
    fi
}

_tfrun() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n := cur prev
    fi
    # --option=value
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
    fi
    COMPREPLY=()
    case $prev in
    --log-level)
        COMPREPLY=($(compgen -W 'error warning info debug' -- "$cur"))
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    --plugin)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --plugin-path)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --plugin-option)
        COMPREPLY=()
        return
        ;;
    --visible-devices)
        _tfrun_ask devices
        return
        ;;
    --logical-cpus)
        COMPREPLY=()
        return
        ;;
    --threads)
        COMPREPLY=()
        return
        ;;
    --backend | -b)
        _tfrun_ask backends
        return
        ;;
    --dim)
        COMPREPLY=()
        return
        ;;
    --input | -i)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --image-mean)
        COMPREPLY=()
        return
        ;;
    --image-std)
        COMPREPLY=()
        return
        ;;
    --layout)
        COMPREPLY=($(compgen -W 'nchw nhwc' -- "$cur"))
        return
        ;;
    --output | -o)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --top)
        COMPREPLY=()
        return
        ;;
    --labels)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --device | -d)
        _tfrun_ask devices
        return
        ;;
    --fallback)
        COMPREPLY=($(compgen -W 'allow warn error' -- "$cur"))
        return
        ;;
    --passes)
        COMPREPLY=($(compgen -W 'all none' -- "$cur"))
        return
        ;;
    --math-mode)
        COMPREPLY=($(compgen -W 'strict f32x6 f32x3 tf32 bf16' -- "$cur"))
        return
        ;;
    --programs)
        COMPREPLY=($(compgen -W 'on off' -- "$cur"))
        return
        ;;
    --capture)
        COMPREPLY=($(compgen -W 'on off' -- "$cur"))
        return
        ;;
    --random-inputs)
        COMPREPLY=()
        return
        ;;
    --shape)
        COMPREPLY=()
        return
        ;;
    --runs)
        COMPREPLY=()
        return
        ;;
    --loop-state)
        COMPREPLY=()
        return
        ;;
    --timeout)
        COMPREPLY=()
        return
        ;;
    --trace)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --data)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --model)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --epochs)
        COMPREPLY=()
        return
        ;;
    --batch-size)
        COMPREPLY=()
        return
        ;;
    --limit-steps)
        COMPREPLY=()
        return
        ;;
    --seed)
        COMPREPLY=()
        return
        ;;
    --loss)
        COMPREPLY=()
        return
        ;;
    --class-weights)
        COMPREPLY=()
        return
        ;;
    --loss-scale)
        COMPREPLY=($(compgen -W 'none dynamic' -- "$cur"))
        return
        ;;
    --optimizer)
        COMPREPLY=($(compgen -W 'adam adamw sgd' -- "$cur"))
        return
        ;;
    --learning-rate)
        COMPREPLY=()
        return
        ;;
    --schedule)
        COMPREPLY=()
        return
        ;;
    --accumulate)
        COMPREPLY=()
        return
        ;;
    --shards)
        COMPREPLY=()
        return
        ;;
    --recompute)
        COMPREPLY=($(compgen -W 'cheap segments' -- "$cur"))
        return
        ;;
    --memory-limit)
        COMPREPLY=()
        return
        ;;
    --momentum)
        COMPREPLY=()
        return
        ;;
    --beta-1)
        COMPREPLY=()
        return
        ;;
    --beta-2)
        COMPREPLY=()
        return
        ;;
    --epsilon)
        COMPREPLY=()
        return
        ;;
    --weight-decay)
        COMPREPLY=()
        return
        ;;
    --clip-value)
        COMPREPLY=()
        return
        ;;
    --clip-norm)
        COMPREPLY=()
        return
        ;;
    --defaults)
        COMPREPLY=($(compgen -W 'keras torch' -- "$cur"))
        return
        ;;
    --freeze)
        COMPREPLY=()
        return
        ;;
    --checkpoint-dir)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --checkpoint-every)
        COMPREPLY=()
        return
        ;;
    --keep)
        COMPREPLY=()
        return
        ;;
    --export | -o)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --log-dir)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --log-every)
        COMPREPLY=()
        return
        ;;
    --plot)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --by)
        COMPREPLY=($(compgen -W 'op node backend' -- "$cur"))
        return
        ;;
    --opset)
        COMPREPLY=()
        return
        ;;
    --fold-shapes)
        COMPREPLY=()
        return
        ;;
    --rtol)
        COMPREPLY=()
        return
        ;;
    --atol)
        COMPREPLY=()
        return
        ;;
    --weights)
        COMPREPLY=($(compgen -W 'int8 int4 f16' -- "$cur"))
        return
        ;;
    --calibrate)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --samples)
        COMPREPLY=()
        return
        ;;
    --activations)
        COMPREPLY=($(compgen -W 'int8 uint8' -- "$cur"))
        return
        ;;
    --ranges)
        COMPREPLY=($(compgen -W 'minmax mse' -- "$cur"))
        return
        ;;
    --block-size)
        COMPREPLY=()
        return
        ;;
    --io)
        COMPREPLY=($(compgen -W 'f32 f16' -- "$cur"))
        return
        ;;
    --nodes)
        COMPREPLY=()
        return
        ;;
    --exclude)
        COMPREPLY=()
        return
        ;;
    --jobs)
        COMPREPLY=()
        return
        ;;
    --ops)
        _tfrun_ask ops
        return
        ;;
    --peers)
        COMPREPLY=()
        return
        ;;
    --library)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    --pairs)
        COMPREPLY=()
        return
        ;;
    --size)
        COMPREPLY=()
        return
        ;;
    --batch)
        COMPREPLY=()
        return
        ;;
    --svg)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        return
        ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        devices | plugins | doctor | ops | inspect | run | train | profile | explain | optimize | quantize | verify | certify | matmul | bench | help | version)
            command=${COMP_WORDS[i]}
            break
            ;;
        esac
    done
    if [[ $cur == -* ]]; then
        local options=' --help --json --verbose --quiet --log-level --color --plugin --plugin-path --plugin-option --visible-devices --logical-cpus --threads'
        case $command in
        '') options+=' --list-devices --version --build-info' ;;
        devices) options+=' --refresh' ;;
        plugins) options+=' --refresh' ;;
        ops) options+=' --backend' ;;
        inspect) options+=' --nodes --dim' ;;
        run) options+=' --input --cast-inputs --image-mean --image-std --layout --output --top --labels --device --backend --fallback --passes --math-mode --deterministic --programs --capture --log-device-placement --random-inputs --dim --shape --runs --loop-state --timeout --trace' ;;
        train) options+=' --data --model --epochs --batch-size --limit-steps --seed --no-shuffle --augment --loss --class-weights --loss-scale --optimizer --learning-rate --schedule --accumulate --shards --recompute --memory-limit --momentum --beta-1 --beta-2 --epsilon --weight-decay --clip-value --clip-norm --defaults --freeze --checkpoint-dir --checkpoint-every --keep --resume --export --log-dir --log-every --plot --device --backend --fallback --math-mode --deterministic --programs' ;;
        profile) options+=' --input --cast-inputs --device --backend --fallback --programs --passes --math-mode --deterministic --random-inputs --dim --shape --runs --by --trace' ;;
        explain) options+=' --device --backend --fallback --programs --capture --passes --math-mode --deterministic --input --cast-inputs --random-inputs --dim --shape' ;;
        optimize) options+=' --passes --opset --fold-shapes --check --rtol --atol --input --random-inputs --shape --device --backend' ;;
        quantize) options+=' --weights --calibrate --samples --activations --ranges --dynamic --per-tensor --reduce-range --block-size --asymmetric --tables --io --nodes --exclude --passes --no-check --input --cast-inputs --image-mean --image-std --layout --random-inputs --dim --shape --device --backend' ;;
        verify) options+=' --device --backend --fallback --passes --math-mode --deterministic --programs --capture --rtol --atol --jobs --timeout' ;;
        certify) options+=' --device --ops --timeout' ;;
        matmul) options+=' --fallback --random-inputs --runs' ;;
        bench) options+=' --peers --library --pairs --size --batch --batch-size --epochs --data --csv --constant --svg --device --backend --math-mode --timeout --input --cast-inputs --random-inputs --dim --shape' ;;
        version) options+=' --build-info' ;;
        __bench_child) options+=' --library' ;;
        esac
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
    fi
    case $command in
    '')
        COMPREPLY=($(compgen -W 'devices plugins doctor ops inspect run train profile explain optimize quantize verify certify matmul bench help version' -- "$cur"))
        ;;
    ops)
        _tfrun_ask ops
        ;;
    inspect)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    run)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    train)
        COMPREPLY=($(compgen -W 'mnist-cnn ' -- "$cur"))
        ;;
    profile)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    explain)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    optimize)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    quantize)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    verify)
        COMPREPLY=($(compgen -d -- "$cur"))
        ;;
    certify)
        COMPREPLY=($(compgen -f -- "${cur#*=}"))
        ;;
    matmul)
        _tfrun_ask devices
        ;;
    bench)
        COMPREPLY=($(compgen -W 'dispatch matmul model field train startup memory' -- "$cur"))
        ;;
    help)
        COMPREPLY=($(compgen -W 'devices plugins doctor ops inspect run train profile explain optimize quantize verify certify matmul bench help version env' -- "$cur"))
        ;;
    esac
}
complete -o filenames -o bashdefault -F _tfrun tfrun
