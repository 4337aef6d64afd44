// The store's conformance suite on real servers, in every form that a Redis is met in. One server serves all cases of a form;
// each case has a namespace of its own.

import { readFileSync } from 'node:fs'
import { after } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { CleanUp } from '../../../testing/broker.ts'
import {
  makeCertificate,
  noRedis,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startReplicated,
} from '../../../testing/redis.ts'
import { openSharedLinks, openTestStore } from '../../../testing/redis-store.ts'
import type { Values } from '../../settings/settings.ts'
import { storeConformance } from '../conformance.ts'

/** The user that docs/reference/redis-keys.md tells an operator to make, as a line of an ACL file. */
function documentedUser(namespaces: string): string {
  const page = readFileSync(new URL('../../../docs/reference/redis-keys.md', import.meta.url), 'utf8')
  const [, rules] = /^ACL SETUSER (ketch .*)$/m.exec(page)!
  return `user ${rules!.replace('~svc:*', `~${namespaces}`)}`
}

let namespaces = 0

/** Connecting takes longer than most cases: but for one form, all of a form's cases share their connections. */
function conformance(
  form: string,
  start: (cleanUp: CleanUp) => Promise<Partial<Values>>,
  { sharesLinks = true } = {},
): void {
  if (noRedis !== false) return
  const ends: (() => Promise<void>)[] = []
  const cleanUp: CleanUp = { after: fn => void ends.push(fn) }
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const begin = async () => {
    const values = await start(cleanUp)
    return { values, links: sharesLinks ? await openSharedLinks(cleanUp, values) : undefined }
  }
  let begun: ReturnType<typeof begin> | null = null
  storeConformance(`Redis store, ${form}`, async t => {
    begun ??= begin()
    const { values, links } = await begun
    const overrides = { ...values, namespace: `t${++namespaces}` }
    let { store } = await openTestStore(t as CleanUp, overrides, links)
    return {
      store,
      reopen: async () => {
        await store.close()
        ;({ store } = await openTestStore(t as CleanUp, overrides, links))
        return store
      },
    }
  })
}

const at = (server: RedisServer): Partial<Values> => ({ 'redis.uri': server.uri })

conformance('alone', async cleanUp => at(await startRedis(cleanUp)), { sharesLinks: false })

conformance('with two replicas that must confirm', async cleanUp => {
  const { primary } = await startReplicated(cleanUp, { replicas: 2 })
  return { ...at(primary), 'storage.local.write.wait-replicas': 2 }
})

conformance('a cluster', async cleanUp => {
  const { uri } = await startRedisCluster(cleanUp)
  return { 'redis.uri': uri, 'redis.cluster': true }
})

conformance('over TLS', async cleanUp => {
  const certificate = await makeCertificate(cleanUp)
  // As NODE_EXTRA_CA_CERTS would, which is read once, when a process begins.
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, readFileSync(certificate.certificateFile, 'utf8')])
  cleanUp.after(async () => setDefaultCACertificates(trusted))
  return at(await startRedis(cleanUp, { tls: certificate }))
})

conformance('for a user who may do nothing else', async cleanUp => {
  const server = await startRedis(cleanUp, {
    acl: ['user default on nopass ~* +@all', documentedUser('t*')],
  })
  return { 'redis.host': server.host, 'redis.port': server.port, 'redis.username': 'ketch', 'redis.password': 'secret' }
})
