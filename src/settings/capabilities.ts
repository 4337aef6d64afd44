// The table of capabilities that an operator can ask for. The checks at startup and the states that operators see
// (switches.ts) and the refusals of topic configs are derived from it. When a version adds a capability, set its
// `isHere`. This file reads no settings.

interface Capability {
  readonly label: string
  /** The name in a sentence. */
  readonly name: string
  /** The setting that switches it; null if no setting does. settings.ts reads this table, so switches.ts checks it. */
  readonly key: string | null
  /** Whether this version has it. */
  readonly isHere: boolean
}

const here = { isHere: true }

export const capabilities = Object.freeze({
  tls: { label: 'TLS', name: 'TLS', key: 'broker.tls', ...here },
  sasl: { label: 'SASL', name: 'SASL', key: 'broker.sasl.enabled', ...here },
  acls: { label: 'ACL enforcement', name: 'ACL enforcement', key: 'broker.acl.enabled', ...here },
  export: { label: 'Message export', name: 'message export', key: 'admin.message-export-enabled', ...here },
  'schema-registry': {
    label: 'Schema registry',
    name: 'the schema registry',
    key: 'schema-registry.enabled',
    ...here,
  },
  'remote-tier': { label: 'Remote tier', name: 'the remote tier', key: 'storage.remote.path', ...here },
  compaction: { label: 'Compaction', name: 'compaction', key: null, ...here },
  mcp: { label: 'MCP endpoint', name: 'the MCP endpoint', key: 'mcp.enabled', ...here },
} as const satisfies Readonly<Record<string, Capability>>)

export type CapabilityId = keyof typeof capabilities

/** Returns the clause that says that this version does not have the capability; null if it has it. */
export function absenceOf(id: CapabilityId): string | null {
  const { name, isHere } = capabilities[id]
  return isHere ? null : `${name} is not in this version of Ketch`
}
