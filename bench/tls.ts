// Measures produce and consume over TLS beside plaintext: two listeners of one broker, in turns. The load runs on the
// same machine and makes its own half of the encryption.

import { makeCertificate } from '../testing/certificate.ts'
import { freePort } from '../testing/free-port.ts'
import { type Finding, type Harness, type Measured, median, type Question, type Served } from './harness.ts'

const PARTITIONS = 16

/** Small enough for the tail cache to hold all of it. */
const LOG_BYTES = 48 * 2 ** 20

const RETENTION = { 'retention.bytes': String(64 * 2 ** 20) }

/** The bytes that are written first, because a journal with new files is slower than one that uses its files again. */
const FILL_BYTES = 3e9

interface Sides {
  readonly plaintext: Served
  readonly tls: Served
  readonly caFile: string
}

export const tls: Question = {
  name: 'tls',
  asks: 'acknowledged produce and tail fetch of 64 KiB batches over TLS, as a share of plaintext on the same broker',
  async answer(harness) {
    const { keyFile, certificateFile: caFile } = await makeCertificate(harness)
    const tlsPort = await freePort()
    const broker = await harness.broker({
      'svc.storage.local.embedded.fsync': 'interval',
      'svc.storage.worker.tick-interval': '1s',
      'svc.broker.cert-file': caFile,
      'svc.broker.key-file': keyFile,
      'svc.broker.listeners[0].name': 'TLS',
      'svc.broker.listeners[0].port': String(tlsPort),
      'svc.broker.listeners[0].security': 'tls',
    })
    const sides = { plaintext: broker, tls: { port: tlsPort, pid: broker.pid }, caFile }
    await harness.topic(broker.port, 'bench', PARTITIONS, RETENTION)
    await harness.load('produce', broker, { partitions: PARTITIONS, connections: 8, bytes: FILL_BYTES })
    await harness.topic(broker.port, 'tail', PARTITIONS)
    await harness.load('produce', broker, { topic: 'tail', partitions: PARTITIONS, bytes: LOG_BYTES })
    const findings: Finding[] = []
    for (const [mode, topic, connections, inFlight] of [
      ['produce', 'bench', 1, 5],
      ['produce', 'bench', 8, 5],
      ['fetch', 'tail', 1, 1],
      ['fetch', 'tail', 4, 1],
    ] as const) {
      const args = { topic, partitions: PARTITIONS, connections, 'in-flight': inFlight, seconds: harness.seconds }
      findings.push(await compare(harness, sides, mode, args))
    }
    return findings
  },
}

async function compare(
  harness: Harness,
  { plaintext, tls, caFile }: Sides,
  mode: 'produce' | 'fetch',
  args: Readonly<Record<string, string | number>>,
): Promise<Finding> {
  const plain: Measured[] = []
  const secured: Measured[] = []
  for (let round = 0; round < harness.rounds; round++) {
    plain.push(await harness.load(mode, plaintext, args))
    secured.push(await harness.load(mode, tls, { ...args, tls: caFile }))
  }
  const [base, rates] = [plain, secured].map(loads => loads.map(load => load.megabytesPerSecond))
  const [baseCpu, cpu] = [plain, secured].map(loads => median(loads.map(load => load.cpuMsPer100MB)))
  return {
    what: `${mode}, ${args.connections} connections`,
    value: median(rates!),
    unit: 'MB/s',
    ratio: median(rates!) / median(base!),
    ratioOf: `plaintext (${median(base!).toFixed(0)} MB/s)`,
    floor: 0.4,
    samples: rates!,
    baseSamples: base!,
    notes: `CPU for 100 MB ${cpu!.toFixed(0)} ms (plaintext ${baseCpu!.toFixed(0)} ms)`,
  }
}
