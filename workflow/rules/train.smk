rule train:
    input:
        stage_path("partition", "partition.parquet"),
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
    shell:
        "{PY} -m sifu train --scenario {wildcards.scenario} --block {wildcards.block} "
        "--scenarios {SCENARIOS:q} --data-root {DATA_ROOT:q} "
        "--device {RUN.device} --threads {threads} "
        "--partition {input:q} --out $(dirname {output[0]:q}) 2>&1 | tee {log:q} >&2"
