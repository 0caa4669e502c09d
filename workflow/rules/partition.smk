rule partition:
    output:
        stage_path("partition", "partition.parquet"),
    log:
        stage_path("partition", "log.txt"),
    params:
        settings=stage_settings("partition"),
        code=stage_code("partition"),
    shell:
        "{PY} -m sifu partition --scenario {wildcards.scenario} --block {wildcards.block} "
        "--scenarios {SCENARIOS:q} --data-root {DATA_ROOT:q} {DOWNLOAD} "
        "--out $(dirname {output:q}) 2>&1 | tee {log:q} >&2"
