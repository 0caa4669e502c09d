rule sweep:
    input:
        partition=stage_path("partition", "partition.parquet"),
        history=stage_path("train", "history.safetensors"),
        data=dataset_files,
    output:
        stage_path("sweep", "sweep.parquet"),
    log:
        stage_path("sweep", "log.txt"),
    priority: 10  # long, and nobody waits
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("sweep"),
        code=sweep_code,
        variant=RUN.sigma_sweep.variant if RUN.sigma_sweep else "",
        sigmas=list(RUN.sigma_sweep.values) if RUN.sigma_sweep else [],
        end=SUITE.seeds_end("sweep"),
        rounds=rounds_option(RUN.sigma_sweep),
    shell:
        "{PY:q} -m sifu sweep --variant {params.variant} --sigmas {params.sigmas} --seeds-end {params.end} "
        "{params.rounds} " + BLOCK_OPTIONS + DEVICE_OPTIONS


rule request_sets:
    input:
        partition=stage_path("partition", "partition.parquet"),
        histories=set_histories,
        searches=set_searches,
        data=dataset_files,
    output:
        stage_path("request_sets", "request_sets.parquet"),
    log:
        stage_path("request_sets", "log.txt"),
    priority: 10
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("request_sets"),
        code=set_code,
        variants=SUITE.set_variants,
        sets=RUN.request_sets.count if RUN.request_sets else 0,
        end=SUITE.seeds_end("request_sets"),
    shell:
        "{PY:q} -m sifu request_sets --variants {params.variants} --count {params.sets} --seeds-end {params.end} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
