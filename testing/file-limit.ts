// Imported before a test file that has a process of its own. The test runner limits each test, but waits without end for a
// process whose tests are over and that something keeps alive.

const LONGEST_MS = 600_000

setTimeout(() => {
  const held = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), kind => kind))
    .map(([kind, all]) => `${all!.length} ${kind}`)
    .join(', ')
  process.stderr.write(`${process.argv[1]}: not over after ${LONGEST_MS / 1000} s; what keeps it alive: ${held}\n`)
  process.exit(1)
}, LONGEST_MS).unref()
