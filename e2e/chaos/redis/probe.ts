// Loaded into a broker that a test starts (`--import probe.ts?end=WORD&stall=MS`): answers SIGUSR2 with its metrics and the word,
// as long as no door shows them, and stands still at SIGWINCH. The registry is found by a change of the text of
// telemetry/metrics.ts, as in without.ts.

import { registerHooks } from 'node:module'

interface Registry {
  metrics(): Promise<string>
}

const FILE = '/src/telemetry/metrics.ts'
const TEXT = 'const registry = new Registry()'

const { searchParams } = new URL(import.meta.url)
const registries: Registry[] = []
Object.assign(globalThis, { probedRegistries: registries })

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(FILE)) return loaded
    const source = Buffer.from(loaded.source as Uint8Array).toString()
    if (source.split(TEXT).length !== 2) throw new Error(`${FILE} is not as probe.ts expects: ${TEXT}`)
    return { ...loaded, source: source.replace(TEXT, `${TEXT}; globalThis.probedRegistries.push(registry)`) }
  },
})

process.on('SIGUSR2', () => {
  const texts = registries.map(registry => registry.metrics())
  void Promise.all(texts).then(all => process.stderr.write(`\n${all.join('\n')}\n${searchParams.get('end')}\n`))
})

process.on('SIGWINCH', () => {
  const begunAt = performance.now()
  while (performance.now() - begunAt < Number(searchParams.get('stall')));
})
