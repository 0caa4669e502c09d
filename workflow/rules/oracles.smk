# many models with the clients to forget and with their twins, trained here in blocks: no history is read or kept
rule oracles:
    input:
        unpack(TARGETS.inputs("oracles")),
    output:
        TARGETS.outputs("oracles"),
    log:
        TARGETS.log("oracles"),
    priority: 10  # long, and only `forgetting` waits for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("oracles"),
        settings=TARGETS.settings("oracles"),
        code=TARGETS.code("oracles"),
    shell:
        "{PY:q} -m sifu oracles" + BLOCK + DEVICE + LOGGED


rule forgetting:
    input:
        unpack(TARGETS.inputs("forgetting")),
    output:
        TARGETS.outputs("forgetting"),
    log:
        TARGETS.log("forgetting"),
    params:
        options=TARGETS.options("forgetting"),
        settings=TARGETS.settings("forgetting"),
        code=TARGETS.code("forgetting"),
    shell:
        "{PY:q} -m sifu forgetting" + BLOCK + LOGGED
