// Tests the reads of the registry on a Redis that is silent: it keeps its connections and answers nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRedis, startRedis } from '../../../../testing/redis.ts'
import { OPEN, recordOf, startEndpoint, WIDE } from '../../../../testing/registry-endpoint.ts'
import { CALLERS, type CallerName, makeCallers } from '../../../../testing/registry-face.ts'
import { ACLS } from '../../../../testing/registry-face-world.ts'
import type { Values } from '../../../settings/settings.ts'

const ONE = recordOf('R', 'a')
/** Far below the minute for which a command may wait, and far above the seconds for which a request does. */
const DEADLINE_MS = 30_000

const READS = [
  '/subjects',
  '/subjects?deleted=true',
  '/schemas',
  '/schemas?latestOnly=true',
  '/schemas/ids/1',
  '/schemas/ids/1?subject=orders-value&fetchMaxId=true&includeSubjects=true',
  '/schemas/ids/1/schema',
  '/schemas/ids/1/subjects',
  '/schemas/ids/1/versions',
  '/schemas/ids/9',
  '/schemas/guids/00000000-0000-0000-0000-000000000000',
  '/schemas/guids/00000000-0000-0000-0000-000000000000/ids',
  '/subjects/orders-value/versions',
  '/subjects/orders-value/versions/1',
  '/subjects/orders-value/versions/latest/schema',
  '/subjects/orders-value/versions/1/referencedby',
  '/subjects/orders-value/metadata?key=a&value=b',
  '/subjects/orders-key/versions',
  '/config',
  '/config/orders-value',
  '/config/orders-value?defaultToGlobal=true',
  '/mode',
  '/mode/orders-value',
  '/mode/orders-value?defaultToGlobal=true',
]
const CHECKS = [
  '/subjects/orders-value',
  '/compatibility/subjects/orders-value/versions',
  '/compatibility/subjects/orders-value/versions/1',
]
/** The parts of these are in memory for ever, unless the caller's rights must be looked up. */
const KNOWN = ['/schemas/ids/1', '/schemas/ids/1/schema']

const WORLDS: readonly (readonly [who: string, settings: Partial<Values>, callers: readonly CallerName[]])[] = [
  ['callers without a sign-in', OPEN, ['unsigned']],
  ['callers with few and with all rights', ACLS, ['client', 'VIEWER', 'ADMIN']],
]

for (const [who, settings, callers] of WORLDS)
  test(`while Redis is silent, ${who} get an answer to every read: 503 with code 50001, or what is known`, {
    skip: noRedis,
  }, async t => {
    const redis = await startRedis(t)
    const silent = { 'redis.uri': redis.uri, 'redis.circuit-breaker.enabled': false }
    const { ask, url } = await startEndpoint(t, { ...settings, ...silent })
    if (settings === ACLS) await makeCallers(url)
    const askAs = async (caller: CallerName, path: string, schema?: string) => {
      const asked = {
        headers: WIDE,
        as: CALLERS[caller],
        ...(schema !== undefined && { method: 'POST', body: { schema } }),
      }
      const answer = await ask(path, asked)
      return [path, answer.status, answer.body.error_code] as const
    }
    const all = (caller: CallerName) => [
      ...READS.map(path => askAs(caller, path)),
      ...CHECKS.map(path => askAs(caller, path, ONE)),
    ]
    const registered = await askAs(settings === ACLS ? 'ADMIN' : 'unsigned', '/subjects/orders-value/versions', ONE)
    assert.equal(registered[1], 200)
    for (const [path, status] of await Promise.all(callers.flatMap(all))) assert.ok(status < 500, `${path}: ${status}`)
    redis.pause()
    try {
      const answers = Promise.all(callers.flatMap(all))
      const late = AbortSignal.timeout(DEADLINE_MS)
      const tooLate = new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(late.reason)))
      for (const [path, status, code] of await Promise.race([answers, tooLate])) {
        if (KNOWN.includes(path) && status === 200) continue
        assert.deepEqual([status, code], [503, 50001], path)
      }
    } finally {
      redis.resume()
    }
  })
