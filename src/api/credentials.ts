// The API schemas of SASL credentials of Kafka clients. A request may carry a password; a response never does.

import { z } from 'zod'
import { noticeShape } from './notice.ts'
import { pagingQuery } from './paging.ts'
import { ITERATIONS, MECHANISMS } from './words.ts'

export const credentialShape = z
  .object({
    username: z.string(),
    mechanism: z.enum(MECHANISMS),
    iterations: z.int(),
    // The name of the credential in the store; the specification uses the same name.
    tenant_id: z.string().nullable(),
  })
  .meta({ id: 'Credential' })

export type Credential = z.infer<typeof credentialShape>

export const storedCredentialShape = credentialShape.extend({ notice: noticeShape }).meta({ id: 'StoredCredential' })
export type StoredCredential = z.infer<typeof storedCredentialShape>

export const credentialListQuery = pagingQuery(['username', 'mechanism', 'tenant_id'])

export const credentialListShape = z.object({
  credentials: z.array(credentialShape),
  total: z.int(),
  unreadable: z.array(z.string()).meta({
    description: 'Users whose stored credential this version cannot read, because another program wrote it.',
  }),
})

export type CredentialList = z.infer<typeof credentialListShape>

const username = z.string().min(1).max(1_024).meta({ description: 'At most 128 characters, without a colon.' })
const password = z
  .string()
  .meta({ description: '8 to 1024 bytes of any Unicode.', examples: ['correct horse battery staple'] })
const mechanism = z.enum(MECHANISMS)
const iterations = z.int().min(ITERATIONS.min).max(ITERATIONS.max)
const tenant = z.string().min(1).nullable()

export const credentialParams = z.object({ username })

export const newCredentialShape = z.object({
  username,
  password,
  mechanism: mechanism.default('SCRAM-SHA-256'),
  iterations: iterations.default(ITERATIONS.fallback),
  tenant_id: tenant.default(null),
})

export type NewCredential = z.input<typeof newCredentialShape>

export const credentialChangeShape = z.object({
  password: password.optional(),
  mechanism: mechanism.optional(),
  iterations: iterations.optional(),
  tenant_id: tenant.optional(),
})
