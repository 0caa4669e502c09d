# every client of a federation left out in turn, in blocks of clients: no history is read or kept
rule atlas:
    input:
        unpack(TARGETS.inputs("atlas")),
    output:
        TARGETS.outputs("atlas"),
    log:
        TARGETS.log("atlas"),
    priority: 10  # long, and nothing waits for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("atlas"),
        settings=TARGETS.settings("atlas"),
        code=TARGETS.code("atlas"),
    shell:
        "{PY:q} -m sifu atlas_block" + BLOCK + DEVICE + LOGGED
