// Loaded into a broker that a test starts (`--import probe.ts`): answers SIGUSR2 with its metrics, as long as no door shows them,
// taken from the registry of prom-client, of which a broker has one; and at SIGWINCH its event loop stands still.

import { Registry } from 'prom-client'
import { METRICS_END, STALL_MS } from './probing.ts'

const registries = new Set<Registry>()
const { registerMetric } = Registry.prototype
Registry.prototype.registerMetric = function register(metric) {
  registries.add(this)
  registerMetric.call(this, metric)
}

process.on('SIGUSR2', () => {
  void Promise.all([...registries].map(registry => registry.metrics())).then(texts =>
    process.stderr.write(`\n${texts.join('\n')}\n${METRICS_END}\n`),
  )
})

process.on('SIGWINCH', () => {
  const begunAt = performance.now()
  while (performance.now() - begunAt < STALL_MS);
})
