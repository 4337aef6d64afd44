import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { eventually } from '../../testing/eventually.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMetrics } from './metrics.ts'
import { watchRuntime } from './runtime-metrics.ts'

test('the process and the machine are measured under the names that dashboards know', async t => {
  const metrics = createMetrics()
  const clock = new SimulatedClock()
  const runtime = watchRuntime(metrics, clock)
  t.after(() => runtime.close())
  const heap = metrics.read('jvm.memory.used', { area: 'heap' })
  assert.ok(heap > 1e6 && heap < metrics.read('jvm.memory.max', { area: 'heap' }), `${heap} bytes`)
  const held = Buffer.alloc(50e6)
  assert.ok(metrics.read('jvm.memory.used', { area: 'nonheap' }) >= held.length)
  const threads = metrics.read('jvm.threads.live', {})
  assert.ok(process.platform === 'linux' ? threads >= 5 : Number.isNaN(threads), `${threads} threads`)
  assert.ok(metrics.read('system.load.average.1m', {}) >= 0)
  for (const from = process.cpuUsage(); process.cpuUsage(from).user < 50_000; ) Math.sqrt(from.user)
  await clock.advance(5_000)
  const used = metrics.read('process.cpu.usage', {})
  assert.ok(used > 0 && used <= 1, `${used} of all cores`)
  assert.ok(metrics.read('system.cpu.usage', {}) <= 1)
})

test('garbage collections are timed by their kind', async t => {
  const metrics = createMetrics()
  const runtime = watchRuntime(metrics, new SimulatedClock())
  t.after(() => runtime.close())
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const major = () => [...metrics.series('jvm.gc.pause')].find(({ labels }) => labels.action === 'major')
  await eventually('a collection is seen', () => major() !== undefined)
  const { count, value } = major()!
  assert.ok(count >= 1 && value > 0 && value < 10, `${count} collections took ${value} s`)
})
