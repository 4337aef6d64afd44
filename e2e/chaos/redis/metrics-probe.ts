// Loaded into a broker that a test starts (`--import`): answers SIGUSR2 with its metrics, as long as no door shows them. They are
// taken from the registry of prom-client, of which a broker has one.

import { Registry } from 'prom-client'
import { METRICS_END } from './metrics.ts'

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
