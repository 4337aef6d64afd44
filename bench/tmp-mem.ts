import { startSecured, startProgram } from './security.ts'
import { residentOf } from './harness.ts'
const ends: (() => Promise<void>)[] = []
const { createTopic } = await import('../testing/topic.ts')
const harness = { after: (fn: () => Promise<void>) => void ends.push(fn), topic: (port: number, n: string, p: number, c: any) => createTopic({ port }, n, p, c) } as any
for (const [name, args] of Object.entries({
  tls: { tls: 1000, sasl: 0, logins: 0 },
  sasl: { tls: 0, sasl: 1000, logins: 0 },
  logins: { tls: 0, sasl: 0, logins: 10000 },
})) {
  if (process.argv[2] && !process.argv[2].split(',').includes(name)) continue
  const s = await startSecured(harness, { users: 100, keyKind: 'ec' })
  await new Promise(r => setTimeout(r, 2000))
  const before = residentOf(s.broker.pid)
  const h = await startProgram<any>('hostile.ts', { port: s.where.port, ca: s.caFile, ...args })
  const atOpen = residentOf(s.broker.pid)
  let most = 0
  const t = setInterval(() => { most = Math.max(most, residentOf(s.broker.pid)) }, 200)
  await new Promise(r => setTimeout(r, 25000))
  const at25 = residentOf(s.broker.pid)
  const out = await h.ask(); await h.kill()
  clearInterval(t)
  await new Promise(r => setTimeout(r, 8000))
  const mb = (n: number) => (n / 2 ** 20).toFixed(0)
  console.log(name, 'before', mb(before), 'open +', mb(atOpen - before), '25s +', mb(at25 - before), 'most +', mb(most - before), 'left +', mb(residentOf(s.broker.pid) - before), JSON.stringify(out))
  await s.broker.kill('SIGTERM')
}
for (const e of ends.reverse()) await e()
