// Runs the store's conformance suite on real servers, in every form in which Redis is deployed. One server serves all
// cases of a form; each case has its own namespace.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { CleanUp } from '../../../testing/broker.ts'
import { makeCertificate } from '../../../testing/certificate.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startProxy } from '../../../testing/proxy.ts'
import { noRedis, type RedisServer, startRedis, startRedisCluster, startReplicated } from '../../../testing/redis.ts'
import { openSharedLinks, openTestStore } from '../../../testing/redis-store.ts'
import type { Values } from '../../settings/settings.ts'
import { storeConformance } from '../conformance.ts'
import type { StoreUnderTest } from '../examples.ts'
import { isStoreFailure, OutcomeUnknown } from '../store.ts'

/** Returns the user that docs/reference/redis-keys.md recommends, as a line of an ACL file. */
function documentedUser(namespaces: string): string {
  const page = readFileSync(new URL('../../../docs/reference/redis-keys.md', import.meta.url), 'utf8')
  const [, rules] = /^ACL SETUSER (ketch .*)$/m.exec(page)!
  return `user ${rules!.replace('~svc:*', `~${namespaces}`)}`
}

let namespaces = 0

/** One form in which Redis is deployed. */
interface Form {
  readonly values: Partial<Values>
  /** Makes the next answer to a trim disappear with its connection. */
  readonly loseNextTrim?: () => void
}

/** Connecting takes longer than most cases, so all cases of a form share their connections, except in one form. */
function conformance(name: string, start: (cleanUp: CleanUp) => Promise<Form>, { sharesLinks = true } = {}): void {
  if (noRedis !== false) return
  const ends: (() => Promise<void>)[] = []
  const cleanUp: CleanUp = { after: fn => void ends.push(fn) }
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const begin = async () => {
    const form = await start(cleanUp)
    return { ...form, links: sharesLinks ? await openSharedLinks(cleanUp, form.values) : undefined }
  }
  let begun: ReturnType<typeof begin> | null = null
  storeConformance(`Redis store, ${name}`, async t => {
    begun ??= begin()
    const { values, links, loseNextTrim } = await begun
    const overrides = { ...values, namespace: `t${++namespaces}` }
    let { store } = await openTestStore(t as CleanUp, overrides, links)
    const under: StoreUnderTest = {
      store,
      reopen: async () => {
        await store.close()
        ;({ store } = await openTestStore(t as CleanUp, overrides, links))
        return store
      },
    }
    if (loseNextTrim === undefined) return under
    return {
      ...under,
      loseTrim: async (stream, call) => {
        loseNextTrim()
        await assert.rejects(call(), OutcomeUnknown)
        await eventually('the store can be asked again', async () => {
          const asked = await Promise.all([store.confirm(stream, 0), store.usage([stream])]).catch(error => error)
          return !isStoreFailure(asked)
        })
      },
    }
  })
}

const at = (server: RedisServer): Form => ({ values: { 'redis.uri': server.uri } })

conformance(
  'alone',
  async cleanUp => {
    let isArmed = false
    const proxy = await startProxy({
      target: await startRedis(cleanUp),
      observe(_, bytes) {
        if (!isArmed || !bytes.includes('_trim\r\n')) return
        isArmed = false
        proxy.swallowNextReply()
      },
    })
    cleanUp.after(() => proxy.close())
    return {
      values: { 'redis.host': '127.0.0.1', 'redis.port': proxy.port },
      loseNextTrim() {
        isArmed = true
      },
    }
  },
  { sharesLinks: false },
)

conformance('with two replicas that must confirm', async cleanUp => {
  const { primary } = await startReplicated(cleanUp, { replicas: 2 })
  return { values: { ...at(primary).values, 'storage.local.write.wait-replicas': 2 } }
})

conformance('a cluster', async cleanUp => {
  const { uri } = await startRedisCluster(cleanUp)
  return { values: { 'redis.uri': uri, 'redis.cluster': true } }
})

conformance('over TLS', async cleanUp => {
  const certificate = await makeCertificate(cleanUp)
  // The same effect as NODE_EXTRA_CA_CERTS, which Node reads only when a process starts.
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, readFileSync(certificate.certificateFile, 'utf8')])
  cleanUp.after(async () => setDefaultCACertificates(trusted))
  return at(await startRedis(cleanUp, { tls: certificate }))
})

conformance('for a user who may do nothing else', async cleanUp => {
  const server = await startRedis(cleanUp, {
    acl: ['user default on nopass ~* +@all', documentedUser('t*')],
  })
  const { host, port } = server
  return {
    values: { 'redis.host': host, 'redis.port': port, 'redis.username': 'ketch', 'redis.password': 'secret' },
  }
})
