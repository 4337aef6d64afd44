// A broker whose registry has both base URLs and HTTP Basic, the users that the client libraries sign in as, and their
// topics.

import assert from 'node:assert/strict'
import { signInAt } from '../../../testing/admin-client.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { type BrokerProcess, freePort, startBrokerProcess } from '../../../testing/process.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Kafka, Registry } from './driver.ts'

export interface User {
  readonly username: string
  readonly password: string
}

export const ADMIN: User = Object.freeze({ username: 'admin', password: 'the password of admin' })
/** A Kafka client with a credential of SCRAM. It may read and write the topics that begin with `orders`. */
export const ADA: User = Object.freeze({ username: 'ada', password: 'the password of ada' })

export const BASES = ['the HTTP port', 'the own port'] as const
export type Base = (typeof BASES)[number]

export interface RegistryWorld {
  readonly process: BrokerProcess
  readonly kafka: Kafka
  registry(base: Base, user?: User): Registry
  makeTopic(name: string): Promise<void>
}

/** Starts it with SASL and ACLs. */
export async function startSecuredWorld(
  cleanUp: CleanUp,
  settings: Readonly<Record<string, string>> = {},
): Promise<RegistryWorld> {
  const world = await startWorld(cleanUp, {
    'svc.broker.sasl.enabled': 'true',
    'svc.broker.acl.enabled': 'true',
    ...settings,
  })
  const admin = await signInAt(world.process.url, ADMIN.username, ADMIN.password)
  const make = async (path: string, body: object) => {
    const { status, body: said } = await admin.ask('POST', `/api/v1/${path}`, body)
    assert.equal(status, 201, JSON.stringify(said))
  }
  await make('credentials', ADA)
  for (const operation of ['READ', 'WRITE'])
    await make('acls', { principal: ADA.username, resourceType: 'TOPIC', resource: 'orders*', operation })
  await make('acls', { principal: ADA.username, resourceType: 'GROUP', resource: '*', operation: 'READ' })
  return {
    ...world,
    kafka: { address: world.process.address, ...ADA },
    makeTopic: name => make('topics', { name, partitions: 1 }),
  }
}

/** Starts it as it is without settings: neither Kafka clients nor the registry's ask for a password. */
export async function startWorld(
  cleanUp: CleanUp,
  settings: Readonly<Record<string, string>> = {},
): Promise<RegistryWorld> {
  const port = await freePort()
  const process = await startBrokerProcess(cleanUp, {
    settings: {
      'svc.admin.password': ADMIN.password,
      'svc.schema-registry.port': String(port),
      'svc.broker.rebalance-delay': '0ms',
      ...settings,
    },
  })
  const { protocol } = new URL(process.url)
  const urls = { 'the HTTP port': `${process.url}/schema-registry`, 'the own port': `${protocol}//127.0.0.1:${port}` }
  return {
    process,
    kafka: { address: process.address },
    registry: (base, user) => ({ url: urls[base], ...user }),
    makeTopic: name => createTopic(process, name, 1),
  }
}
