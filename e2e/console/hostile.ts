// Texts that try to run as a script, to break the layout, or to look like another text, and a broker that has them in
// every place where a client can put a text.

import type { AdminClient } from '../../testing/admin-client.ts'
import type { Wire } from '../../testing/wire.ts'
import { commitAs, joinAs, produceAs } from './seeded.ts'
import { must, type World } from './world.ts'

/** Scripts call this function of the page; the tests read how often. */
export const TRAP = 'ketchTrap'

export const HOSTILE = [
  `<img src=x onerror=${TRAP}()>`,
  `<script>${TRAP}()</script>`,
  `"><svg onload=${TRAP}()><style>*{display:none}</style>`,
  `' onmouseover='${TRAP}()' autofocus onfocus='${TRAP}()`,
  `javascript:${TRAP}()//%0a`,
  `data:text/html,<script>${TRAP}()</script>`,
  `{{${TRAP}()}} \${${TRAP}()} <%= ${TRAP}() %>`,
  'right \u202Eto left\u202C and \u2066isolated',
  'zero\u200Bwidth\u00ADand\uFEFFmarks',
  'nul \u0000 and escape \u001B[31m and bell \u0007',
  'two\r\nlines\tand a tab',
  '𝕳 👩‍👩‍👧 e\u0301\u0301\u0301\u0301\u0301 \uD83D',
  'W'.repeat(240),
  `${'long words '.repeat(20)}…`,
  '../../api/v1/auth/logout?x=1#y',
  '%3Cimg%20src%3Dx%3E%00',
  '__proto__',
  'constructor',
] as const

const LONG = 5_000_000

/** Records of one long line: JSON of nothing but brackets, of many small values, and of one text without end. */
export const LONG_LINES = [
  '['.repeat(LONG),
  `[${'1,'.repeat(LONG / 2)}`,
  `{"text":"${'x'.repeat(LONG)}`,
  '\u05D0\u05D1 '.repeat(LONG / 5),
] as const

export const LONG_LINES_TOPIC = 'long-lines'

/** Returns the text after its way through UTF-8: half of a character does not survive it. */
export const throughUtf8 = (text: string) => Buffer.from(text).toString()

/** Names of topics may hold little. */
export const HOSTILE_TOPICS = ['__proto__', 'constructor', '-rf', '007', 'true', '...', `_${'M'.repeat(239)}`] as const

export const RECORDS_TOPIC = 'hostile-records'

interface Planted {
  readonly groups: readonly string[]
  readonly subjects: readonly string[]
  /** The places where the broker refuses a text, for the output. */
  readonly refused: readonly string[]
}

/** Puts the texts wherever the broker takes them. */
export async function plant({ admin, connect }: World): Promise<Planted> {
  const refused: string[] = []
  const attempt = async (place: string, path: string, body: object) => {
    const { status } = await admin.ask('POST', path, body)
    if (status >= 500) throw new Error(`${place}: ${status} for ${JSON.stringify(body)}`)
    if (status >= 300) refused.push(place)
  }
  for (const name of [RECORDS_TOPIC, ...HOSTILE_TOPICS])
    await must(admin, 'POST', '/api/v1/topics', { name, partitions: 1 })
  for (const text of HOSTILE) {
    const rule = { principal: text, resourceType: 'TOPIC', resource: '*', operation: 'READ' }
    const password = `a password of ${RECORDS_TOPIC}`
    await attempt('principal', '/api/v1/acls', rule)
    await attempt('group of a rule', '/api/v1/acls', {
      ...rule,
      principal: 'eve',
      resourceType: 'GROUP',
      resource: text,
    })
    await attempt('user', '/api/v1/users', { username: text, password, role: 'VIEWER' })
    const credential = { username: text, mechanism: 'SCRAM-SHA-256', iterations: 4_096, password }
    await attempt('credential', '/api/v1/credentials', credential)
  }
  for (const [at, text] of HOSTILE.entries())
    await attempt('tenant', '/api/v1/credentials', {
      ...{
        username: `tenant ${at}`,
        mechanism: 'SCRAM-SHA-256',
        iterations: 4_096,
        password: 'a password of a tenant',
      },
      tenant_id: text,
    })

  const wire = await connect()
  await must(admin, 'POST', '/api/v1/topics', {
    name: LONG_LINES_TOPIC,
    partitions: 1,
    configs: { 'max.message.bytes': String(2 * LONG) },
  })
  for (const value of LONG_LINES) await produceAs(wire, LONG_LINES_TOPIC, 0, [{ key: null, value }])
  for (const text of HOSTILE)
    await produceAs(wire, RECORDS_TOPIC, 0, [{ key: text, value: text, headers: [{ key: text, value: text }] }])
  const groups: string[] = []
  for (const [at, text] of HOSTILE.entries())
    if (await isTaken(() => joinOrCommit(connect, wire, at, text))) groups.push(throughUtf8(text))
    else refused.push('group')
  return { groups, subjects: await plantSubjects(admin), refused }
}

/** The text of the schema of each hostile subject. */
export const hostileSchema = (text: string) =>
  JSON.stringify({ title: text, description: `${text} again`, enum: [text] })

/** Resolves with the texts that can be names of subjects. Each has two versions, and refers to the first subject. */
async function plantSubjects(admin: AdminClient): Promise<readonly string[]> {
  const subjects: string[] = []
  for (const text of HOSTILE.map(throughUtf8)) {
    const path = `/api/v1/schemas/subjects/${encodeURIComponent(text)}`
    const [first] = subjects
    const references = first === undefined ? [] : [{ name: text, subject: first, version: 1 }]
    const body = { type: 'JSON', schema: hostileSchema(text), references }
    const { status } = await admin.ask('POST', `${path}/versions`, body)
    if (status >= 500) throw new Error(`subject: ${status} for ${JSON.stringify(body)}`)
    if (status >= 300) continue
    await must(admin, 'PUT', `${path}/level`, { level: 'NONE' })
    await must(admin, 'POST', `${path}/versions`, { type: 'JSON', schema: JSON.stringify({ title: text }) })
    subjects.push(text)
  }
  return subjects
}

const isTaken = (work: () => Promise<void>) =>
  work().then(
    () => true,
    () => false,
  )

/** Every second group has a member, with the text as its client and its instance. */
async function joinOrCommit(connect: () => Promise<Wire>, wire: Wire, at: number, text: string): Promise<void> {
  await commitAs(wire, text, RECORDS_TOPIC, 1)
  if (at % 2 === 0) await joinAs(await connect(), text, RECORDS_TOPIC, text, text)
}
