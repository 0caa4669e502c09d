rule train:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        [stage_path("train", file) for file in paths.TRAIN_FILES],
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
        folder=stage_folder("train"),
    shell:
        "{PY:q} -m sifu train --scenario {wildcards.scenario} --block {wildcards.block} "
        "--scenarios {SCENARIOS:q} --data-root {DATA_ROOT:q} "
        "--device {RUN.device} --threads {threads} "
        "--partition {input.partition:q} --out {params.folder:q} 2>&1 | tee {log:q} >&2"
