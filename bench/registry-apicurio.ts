// The schema registry beside Apicurio Registry with its storage in memory: the same client registers schemas at one and
// then at the other, and looks them up by id. While one is measured the other is stopped, because an idle JVM works
// too. Ketch keeps its schemas on disk, with the default durability.

import { connect, type Socket } from 'node:net'
import { type Apicurio, apicurioAbsence, startApicurio } from '../testing/apicurio.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { cpuSeconds, type Finding, median, type Question } from './harness.ts'

interface Peer {
  readonly pid: number
  readonly url: string
  pause(): void
  resume(): void
}

const CONNECTIONS = 16
const MS = 1_000
const MEDIA = 'application/vnd.schemaregistry.v1+json'
const FIELDS = 15

export const registryApicurio: Question = {
  name: 'registry-apicurio',
  asks: 'how many registrations and look-ups by id the registry answers in a second, beside Apicurio Registry in memory',
  absence: apicurioAbsence,
  async answer(harness) {
    const settings = { 'svc.schema-registry.authentication': 'none', 'svc.ui.enabled': 'false' }
    const broker: BrokerProcess = await harness.broker(settings)
    const other: Apicurio = await startApicurio(harness)
    const ketch: Peer = {
      pid: broker.pid,
      url: `${broker.url}/schema-registry`,
      pause: broker.pause,
      resume: broker.resume,
    }
    const peers = { ketch, apicurio: other as Peer }
    const ids = new Map<Peer, number[]>([
      [ketch, []],
      [other, []],
    ])
    let schemas = 0
    const register = async (peer: Peer, connection: Connection) => {
      const answer = await connection.post(`/subjects/subject-${++schemas}-value/versions`, bodyOf(schemas))
      ids.get(peer)!.push((JSON.parse(answer) as { id: number }).id)
    }
    const lookUp = async (peer: Peer, connection: Connection, step: number) => {
      const known = ids.get(peer)!
      await connection.get(`/schemas/ids/${known[step % known.length]}`)
    }
    // The JIT compilers of both have seen the code before.
    for (const peer of Object.values(peers))
      for (const work of [register, lookUp]) await measure(peer, harness.seconds * MS, work)
    const findings: Finding[] = []
    for (const [what, work, floor] of [
      ['registrations', register, 2],
      ['look-ups by id', lookUp, 3],
    ] as const) {
      const rates = { ketch: [] as number[], apicurio: [] as number[] }
      const cpu = { ketch: [] as number[], apicurio: [] as number[] }
      for (let round = 0; round < harness.rounds; round++)
        for (const name of ['ketch', 'apicurio'] as const) {
          const others = name === 'ketch' ? peers.apicurio : peers.ketch
          others.pause()
          const { rate, cpuMs } = await measure(peers[name], harness.seconds * MS, work)
          others.resume()
          rates[name].push(rate)
          cpu[name].push(cpuMs)
        }
      const value = median(rates.ketch)
      findings.push({
        what,
        value,
        unit: '/s',
        ratio: value / median(rates.apicurio),
        ratioOf: 'Apicurio Registry 2.6.13',
        floor,
        samples: rates.ketch,
        baseSamples: rates.apicurio,
        notes: `processor time of a request ${median(cpu.ketch).toFixed(2)} ms, of Apicurio ${median(cpu.apicurio).toFixed(2)} ms`,
      })
    }
    return findings
  },
}

function bodyOf(number: number): string {
  const fields = Array.from({ length: FIELDS }, (_, at) => ({
    name: `field_${number}_${at}`,
    type: ['null', 'string'],
  }))
  return JSON.stringify({
    schema: JSON.stringify({ type: 'record', name: `Record${number}`, namespace: 'com.example', fields }),
  })
}

async function measure(
  peer: Peer,
  durationMs: number,
  work: (peer: Peer, connection: Connection, step: number) => Promise<void>,
): Promise<{ readonly rate: number; readonly cpuMs: number }> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(peer.url)))
  const [beganAt, cpuBefore] = [performance.now(), cpuSeconds(peer.pid)]
  let done = 0
  await Promise.all(
    connections.map(async connection => {
      while (performance.now() - beganAt < durationMs) await work(peer, connection, done++)
    }),
  )
  const seconds = (performance.now() - beganAt) / 1_000
  for (const each of connections) each.close()
  return { rate: done / seconds, cpuMs: ((cpuSeconds(peer.pid) - cpuBefore) * 1_000) / done }
}

interface Connection {
  get(path: string): Promise<string>
  post(path: string, body: string): Promise<string>
  close(): void
}

/** A client that costs little beside the servers: one connection, one request at a time, any body. */
async function openConnection(url: string): Promise<Connection> {
  const { hostname, port, pathname } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let received = ''
  let waiting = Promise.withResolvers<string>()
  socket.setEncoding('latin1')
  socket.on('data', chunk => {
    received += chunk
    const body = bodyIn(received)
    if (body !== null) waiting.resolve(body)
  })
  socket.on('close', () => waiting.reject(new Error('the server has closed a connection')))
  const ask = async (head: string, body = '') => {
    received = ''
    waiting = Promise.withResolvers()
    socket.write(
      `${head} HTTP/1.1\r\nhost: ${hostname}:${port}\r\naccept: ${MEDIA}\r\n${body === '' ? '' : `content-type: ${MEDIA}\r\ncontent-length: ${body.length}\r\n`}\r\n${body}`,
    )
    const answer = await waiting.promise
    if (!received.startsWith('HTTP/1.1 200')) throw new Error(`${head} was answered with ${received.slice(0, 300)}`)
    return answer
  }
  return {
    get: path => ask(`GET ${pathname}${path}`),
    post: (path, body) => ask(`POST ${pathname}${path}`, body),
    close: () => {
      waiting.promise.catch(() => {})
      socket.destroy()
    },
  }
}

/** Returns the body of the answer; null while it is not complete. */
function bodyIn(received: string): string | null {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return null
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))
  const body = received.slice(end + 4)
  if (length !== null) return body.length < Number(length[1]) ? null : body
  if (!body.endsWith('\r\n0\r\n\r\n') && body !== '0\r\n\r\n') return null
  return body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/gi, '')
}
