rule train:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        [stage_path("train", file) for file in paths.FILES["train"]],
    log:
        stage_path("train", "log.txt"),
    benchmark:
        stage_path("train", "benchmark.tsv")
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("train"),
        code=stage_code("train"),
    shell:
        "{PY:q} -m sifu train " + BLOCK_OPTIONS + DEVICE_OPTIONS
