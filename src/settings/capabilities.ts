// The table of capabilities that an operator can ask for. The states that operators see (switches.ts) are derived from
// it. This file reads no settings.

interface Capability {
  readonly label: string
  /** The setting that switches it; null if no setting does. settings.ts reads this table, so switches.ts checks it. */
  readonly key: string | null
}

export const capabilities = Object.freeze({
  tls: { label: 'TLS', key: 'broker.tls' },
  sasl: { label: 'SASL', key: 'broker.sasl.enabled' },
  acls: { label: 'ACL enforcement', key: 'broker.acl.enabled' },
  export: { label: 'Message export', key: 'admin.message-export-enabled' },
  'schema-registry': { label: 'Schema registry', key: 'schema-registry.enabled' },
  'remote-tier': { label: 'Remote tier', key: 'storage.remote.path' },
  compaction: { label: 'Compaction', key: null },
  mcp: { label: 'MCP endpoint', key: 'mcp.enabled' },
} as const satisfies Readonly<Record<string, Capability>>)

export type CapabilityId = keyof typeof capabilities
