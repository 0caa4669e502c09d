rule partition:
    input:
        unpack(TARGETS.inputs("partition")),
    output:
        TARGETS.outputs("partition"),
    log:
        TARGETS.log("partition"),
    params:
        options=TARGETS.options("partition"),
        settings=TARGETS.settings("partition"),
        code=TARGETS.code("partition"),
    shell:
        "{PY:q} -m sifu partition {PLAN.download}" + BLOCK + LOGGED
