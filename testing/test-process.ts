// Imported before a test file that has a process of its own. The test runner limits each test, but waits without end
// for a process whose tests are over and that something keeps alive. At its end the process says how much processor
// time it took.

import { appendFileSync, readFileSync } from 'node:fs'

const LONGEST_MS = 1_200_000
/** Ticks of the clock in /proc (`getconf CLK_TCK`): 100 on every Linux of today. */
const TICKS_PER_SECOND = 100

setTimeout(() => {
  const held = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), kind => kind))
    .map(([kind, all]) => `${all!.length} ${kind}`)
    .join(', ')
  process.stderr.write(`${process.argv[1]}: not over after ${LONGEST_MS / 1000} s; what keeps it alive: ${held}\n`)
  // process.exit() would wait for the threads of a native client, and such a wait may be what has no end.
  process.emit('exit', 1)
  process.kill(process.pid, 'SIGKILL')
}, LONGEST_MS).unref()

const busyFile = process.env.KETCH_BUSY_FILE
// The processes that the test starts are not test files.
delete process.env.KETCH_BUSY_FILE
if (busyFile !== undefined) process.on('exit', () => appendFileSync(busyFile, `${busySeconds()}\n`))

/** Of this process and of the children that it has waited for (proc_pid_stat(5), fields 14 to 17). */
function busySeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
  } catch {
    // Not Linux: the run is not slower for it, only ordered less well.
    return process.cpuUsage().user / 1e6
  }
}
