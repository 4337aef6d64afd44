// Loaded before each test file that has a process of its own. The test runner limits each test, but it waits forever
// for a process that something keeps alive after its tests. At its end the process writes the processor time that it
// used.

import { appendFileSync, readFileSync } from 'node:fs'

const LONGEST_MS = 1_200_000
/** Clock ticks a second in /proc (`getconf CLK_TCK`): 100 on every current Linux. */
const TICKS_PER_SECOND = 100

setTimeout(() => {
  const held = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), kind => kind))
    .map(([kind, all]) => `${all!.length} ${kind}`)
    .join(', ')
  process.stderr.write(`${process.argv[1]}: not ended after ${LONGEST_MS / 1000} s; kept alive by: ${held}\n`)
  // process.exit() would wait for the threads of a native client, and such a wait may never end.
  process.emit('exit', 1)
  process.kill(process.pid, 'SIGKILL')
}, LONGEST_MS).unref()

const busyFile = process.env.KETCH_BUSY_FILE
// Child processes of the test must not write the file, because they are not test files.
delete process.env.KETCH_BUSY_FILE
if (busyFile !== undefined) process.on('exit', () => appendFileSync(busyFile, `${busySeconds()}\n`))

/**
 * Returns the CPU seconds of this process and of the children that it has waited for (proc_pid_stat(5), fields 14 to
 * 17).
 */
function busySeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
  } catch {
    // Without Linux there is no /proc. The value only decides the order of later runs, so an estimate is enough.
    return process.cpuUsage().user / 1e6
  }
}
