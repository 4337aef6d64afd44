// The table of all settings. Environment names, file keys, command-line options, startup validation, `ketch --help`
// and docs/reference/settings.md are derived from it; to add a setting, add a row. Keys omit the `svc.` that the file
// and the command line put before them; the few keys of other families (server, logging, management) are complete.
// grammar.ts parses the values, consistency.ts checks which values go together, and switches.ts refuses switches that
// this version does not support yet.

import { availableParallelism } from 'node:os'
import type { Scalar } from './grammar.ts'
import * as grammar from './grammar.ts'

interface Marks {
  /** True for keys that this project adds to the specification's. */
  readonly ours?: boolean
  /** Names the capability that this version does not have yet. */
  readonly notYet?: string
}

/** One field of the entries of a list. */
export interface Field<T> extends Marks {
  readonly type: Scalar<T>
  readonly doc: string
  readonly required: boolean
}

export type Fields = Readonly<Record<string, Field<unknown>>>

export type Shape =
  | { readonly kind: 'one'; readonly type: Scalar<unknown> }
  | { readonly kind: 'list'; readonly item: Scalar<unknown> }
  | { readonly kind: 'map'; readonly item: Scalar<unknown> }
  | { readonly kind: 'entries'; readonly fields: Fields }

/** One row. `fallbackText` is the default as an operator would write it; null if the key has no default. */
export interface Setting<T> extends Marks {
  readonly shape: Shape
  readonly fallback: () => T
  readonly fallbackText: string | null
  readonly doc: string
}

function frozen<T>(setting: Setting<T>): Setting<T> {
  return Object.freeze(setting)
}

/** Makes a row whose default is the given text, parsed by the row's own grammar. */
function row<T>(type: Scalar<T>, text: string, doc: string, marks: Marks = {}): Setting<T> {
  const value = type.parse(text)
  if (value === undefined) throw new TypeError(`the default '${text}' is not what its row takes: ${type.takes}`)
  return frozen({ shape: { kind: 'one', type }, fallback: () => value, fallbackText: text, doc, ...marks })
}

/** Makes a row whose default depends on the machine. */
function computed<T>(
  type: Scalar<T>,
  fallback: () => T,
  fallbackText: string,
  doc: string,
  marks: Marks = {},
): Setting<T> {
  return frozen({ shape: { kind: 'one', type }, fallback, fallbackText, doc, ...marks })
}

/** Makes a row that may stay unset (null). `otherwise` names the value that applies then, if it has a short name. */
function optional<T>(type: Scalar<T>, doc: string, marks: Marks & { otherwise?: string } = {}): Setting<T | null> {
  const { otherwise = null, ...rest } = marks
  return frozen({ shape: { kind: 'one', type }, fallback: () => null, fallbackText: otherwise, doc, ...rest })
}

function list<T>(item: Scalar<T>, texts: readonly T[], doc: string, marks: Marks = {}): Setting<readonly T[]> {
  const fallback = Object.freeze([...texts])
  return frozen({
    shape: { kind: 'list', item },
    fallback: () => fallback,
    fallbackText: texts.join(','),
    doc,
    ...marks,
  })
}

function map<T>(item: Scalar<T>, doc: string, marks: Marks = {}): Setting<ReadonlyMap<string, T>> {
  const fallback: ReadonlyMap<string, T> = new Map()
  return frozen({ shape: { kind: 'map', item }, fallback: () => fallback, fallbackText: '', doc, ...marks })
}

function entries<T>(fields: Fields, doc: string, marks: Marks = {}): Setting<readonly T[]> {
  const fallback: readonly T[] = Object.freeze([])
  return frozen({
    shape: { kind: 'entries', fields },
    fallback: () => fallback,
    fallbackText: '',
    doc,
    ...marks,
  })
}

function field<T>(type: Scalar<T>, doc: string, marks: Marks & { required?: boolean } = {}): Field<T> {
  return Object.freeze({ type, doc, required: false, ...marks })
}

const {
  advertisedHost,
  bindHost,
  boolean,
  duration,
  filePath,
  folderPath,
  integer,
  network,
  oneOf,
  port,
  secret,
  size,
  string,
} = grammar

const OURS = { ours: true } as const
/** The most partitions that storage.worker.tick-concurrency allows at the same time. */
export const MOST_TICK_CONCURRENCY = 1024

const general = {
  'max-partitions-per-topic': row(
    integer({ min: 1, max: 100_000 }),
    '128',
    'Most partitions that a topic may be created with or grown to. A topic pattern that asks for more ends startup.',
  ),
  'max-partitions': row(
    integer({ min: 1 }),
    '100000',
    'Most partitions of all topics together. A request that would exceed it gets INVALID_PARTITIONS; existing partitions stay.',
    OURS,
  ),
  namespace: row(
    grammar.namespace(),
    'svc',
    'Prefix of all state in a Redis store; an embedded store has a folder of its own.',
  ),
}

const patternFields = {
  name: field(
    grammar.glob(),
    'Glob that must match the whole topic name: * is any characters, ? is one, [a-z] is one of a class. Required.',
    { required: true },
  ),
  'auto-create': field(boolean(), 'Whether a topic that matches is created when a client first names it.'),
  partitions: field(
    integer({ min: 1, max: 100_000 }),
    'Number of partitions, if the request that creates the topic names none.',
  ),
  'offset-sequence-bits': field(
    integer({ min: 0, max: 11 }),
    'If above 0, offsets follow the clock: milliseconds since 1970 shifted left by this many bits. If 0, offsets count up one by one.',
  ),
  compression: field(oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'), 'Codec that compresses batches in the store.'),
  'remote-storage-enabled': field(
    boolean(),
    'Whether sealed segments go to the remote tier. It does not apply to compacted topics.',
  ),
  'cleanup-policy': field(
    oneOf('delete', 'compact'),
    'delete drops old segments. compact keeps the newest record of each key.',
  ),
  retention: field(grammar.durationOrUnlimited(), 'Topic config retention.ms.', OURS),
  'retention-bytes': field(grammar.sizeOrUnlimited(), 'Topic config retention.bytes, for each partition.', OURS),
  'local-retention': field(grammar.durationOrUnlimited(), 'Topic config local.retention.ms.', OURS),
  'local-retention-bytes': field(grammar.sizeOrUnlimited(), 'Topic config local.retention.bytes.', OURS),
  'segment-ms': field(duration({ min: 1 }), 'Topic config segment.ms, written as a duration.', OURS),
  'segment-bytes': field(size({ min: 2 ** 20, max: 2 ** 31 - 1 }), 'Topic config segment.bytes.', OURS),
  'max-message-bytes': field(
    size({ max: 2 ** 31 - 1 }),
    'Topic config max.message.bytes: the largest record batch.',
    OURS,
  ),
  'message-timestamp-type': field(oneOf('CreateTime', 'LogAppendTime'), 'Topic config message.timestamp.type.', OURS),
}

/** One entry of svc.topics; null for a field that the entry does not set. */
export interface TopicPattern {
  readonly name: string
  readonly autoCreate: boolean | null
  readonly partitions: number | null
  readonly offsetSequenceBits: number | null
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd' | null
  readonly remoteStorageEnabled: boolean | null
  readonly cleanupPolicy: 'delete' | 'compact' | null
  /** Milliseconds; -1 is unlimited. The next three fields are bytes or milliseconds in the same way. */
  readonly retention: number | null
  readonly retentionBytes: number | null
  readonly localRetention: number | null
  readonly localRetentionBytes: number | null
  readonly segmentMs: number | null
  readonly segmentBytes: number | null
  readonly maxMessageBytes: number | null
  readonly messageTimestampType: 'CreateTime' | 'LogAppendTime' | null
}

const topics = {
  topics: entries<TopicPattern>(
    patternFields,
    'Topic patterns, from top to bottom: for each field the first matching pattern that sets it wins. Overrides of a topic beat patterns, patterns beat defaults.',
  ),
}

const admin = {
  'admin.anonymous-prometheus': row(boolean(), 'false', 'Serve /actuator/prometheus without authentication.'),
  'admin.bootstrap': row(boolean(), 'true', 'Create the admin user at startup when it does not exist.'),
  'admin.first-run-setup-enabled': row(
    boolean(),
    'true',
    'Let an unauthenticated first-run setup create the first admin while there is no user.',
  ),
  'admin.username': row(string(), 'admin', 'User name of the admin that is created at startup.'),
  'admin.password': row(
    secret(),
    'change-me-now',
    'Password of the admin that is created at startup; change it before exposing the API.',
  ),
  'admin.security-enabled': row(boolean(), 'true', 'If false, the admin API and the console need no authentication.'),
  'admin.trusted-proxies': list(
    network(),
    [],
    'Reverse proxies in front of the admin API. The broker trusts X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host only from these addresses.',
    OURS,
  ),
  'admin.message-export-enabled': row(
    boolean(),
    'true',
    'Let users who may browse records export many of them as one file.',
    OURS,
  ),
  'admin.jwt.expiry': row(duration({ min: 1000 }), '8h', 'Lifetime of a console session.'),
  'admin.jwt.secret': optional(
    secret(32),
    'Key that signs sessions (HMAC-SHA256). If unset, the broker makes a random key at startup, and sessions end with the process.',
    { otherwise: 'random' },
  ),
  'admin.login-throttle.max-failures': row(
    integer({ min: 1 }),
    '10',
    'Consecutive failures of one user name and address before a lockout.',
  ),
  'admin.login-throttle.initial-lockout': row(duration(), '30s', 'First lockout; each further failure doubles it.'),
  'admin.login-throttle.max-lockout': row(
    duration(),
    '15m',
    'Longest lockout. The broker also forgets the count of failures after this time without a failure.',
  ),
  'admin.metrics-history.enabled': row(
    boolean(),
    'true',
    'Serve /api/v1/metrics/history. If false, it returns an empty series, and the broker still captures metrics.',
  ),
  'admin.metrics-history.interval': row(duration({ min: 1 }), '15s', 'Time between two captures of the metrics.'),
  'admin.metrics-history.retention': row(
    duration({ min: 1 }),
    '1h',
    'How much history is kept: retention / interval samples for each series.',
  ),
  'admin.metrics-history.max-series': row(
    integer({ min: 0 }),
    '10000',
    'Most series of topics and groups; the broker does not keep further series and logs a warning.',
  ),
  'admin.segment-inspection.queue-capacity': row(
    integer(),
    '8',
    'Segment inspections that may wait for a free thread.',
  ),
  'admin.segment-inspection.threads': row(
    integer({ min: 1, max: 1024 }),
    '8',
    'Remote segment inspections that run at the same time.',
  ),
  'admin.segment-inspection.timeout': row(
    duration(),
    '5s',
    'Longest time that a segment request waits for its inspection.',
  ),
  'admin.segment-inspection.ttl': row(
    duration(),
    '10s',
    'How long a completed inspection is reused; 0 turns that off.',
  ),
}

const sso = {
  'admin.oauth.enabled': row(boolean(), 'false', 'Sign in to the console through an OpenID Connect provider.'),
  'admin.oauth.issuer-uri': optional(
    grammar.httpUri(),
    'Expected iss of tokens. The broker also discovers the provider at this address.',
  ),
  'admin.oauth.client-id': optional(string(), 'Client that is registered at the provider.'),
  'admin.oauth.client-secret': optional(secret(), 'Needed only if the provider requires a confidential client.'),
  'admin.oauth.audience': optional(string(), 'Required aud of the id_token.'),
  'admin.oauth.jwks-uri': optional(grammar.httpUri(), 'Address of the keys (JWKS) of the provider.', {
    otherwise: 'discovered',
  }),
  'admin.oauth.clock-skew': row(
    grammar.wholeSeconds(),
    '30s',
    'Accepted clock difference, rounded up to whole seconds.',
  ),
  'admin.oauth.provider-name': row(string(), 'SSO', 'Label of the login button.'),
  'admin.oauth.redirect-uri': optional(grammar.httpUri(), 'Address to which the provider sends the browser back.', {
    otherwise: '<scheme>://<host>/api/v1/auth/oidc/callback',
  }),
  'admin.oauth.scopes': row(string(), 'openid profile', 'Scopes that the sign-in requests.'),
  'admin.oauth.username-claim': row(
    string(),
    'preferred_username',
    'Claim of the id_token that becomes the console user name.',
  ),
  'admin.oauth.roles.admin-group': optional(string(), 'Value of the roles claim that grants ADMIN.'),
  'admin.oauth.roles.viewer-group': optional(string(), 'Value of the roles claim that grants VIEWER.'),
  'admin.oauth.roles.claim': row(string(), 'groups', 'Claim with the roles: an array or one string.'),
}

export const LISTENER_SECURITIES = ['plaintext', 'tls', 'sasl-plaintext', 'sasl-tls'] as const

/** How clients reach a listener: with or without TLS, with or without SASL. */
export type ListenerSecurity = (typeof LISTENER_SECURITIES)[number]

const listenerFields = {
  name: field(string(), 'Name of the listener; the first one is called PLAINTEXT. Required.', {
    ...OURS,
    required: true,
  }),
  host: field(bindHost(), 'Address to bind; by default broker.host.', OURS),
  port: field(port(), 'TCP port. Required.', { ...OURS, required: true }),
  'advertised-host': field(
    advertisedHost(),
    'Host that clients of this listener connect to. By default the bound host, or localhost if that is every interface.',
    OURS,
  ),
  'advertised-port': field(port(), 'Port that clients of this listener connect to; by default the bound port.', OURS),
  security: field(
    oneOf(...LISTENER_SECURITIES),
    'TLS and SASL of this listener. By default it has what svc.broker.tls and svc.broker.sasl.enabled say.',
    OURS,
  ),
}

/** One entry of svc.broker.listeners. */
export interface ListenerSettings {
  readonly name: string
  readonly host: string | null
  readonly port: number
  readonly advertisedHost: string | null
  readonly advertisedPort: number | null
  readonly security: ListenerSecurity | null
}

const broker = {
  'broker.enabled': row(
    boolean(),
    'true',
    'Open the Kafka listener. If false, the process still serves HTTP. On a store that brokers share, it leads no partition and coordinates no group.',
  ),
  'broker.host': row(bindHost(), '0.0.0.0', 'Address the Kafka listener binds.'),
  'broker.port': row(port(), '9092', 'TCP port of the Kafka listener. On a loopback address 0 takes any free port.'),
  'broker.advertised-host': optional(advertisedHost(), 'Host that clients are told to connect to.', {
    otherwise: 'broker.host, or localhost when that is 0.0.0.0',
  }),
  'broker.advertised-port': optional(port(), 'Port that clients are told to connect to.', { otherwise: 'broker.port' }),
  'broker.id': row(integer(), '0', 'Broker id; unique for each broker on one store.'),
  'broker.rack': optional(string(), 'Rack or zone of this broker, for its clients.', OURS),
  'broker.expiry': row(
    duration({ min: 500, max: 60_000 }),
    '5s',
    'How long a broker may give no sign of life. Then the other brokers on its store take over its partitions and groups. A broker gives ten signs in this time.',
    OURS,
  ),
  'broker.listeners': entries<ListenerSettings>(
    listenerFields,
    'Further listeners, each with its own port and advertised endpoint. A client gets the endpoint of the listener that it is connected to.',
  ),
  'broker.stack': row(
    oneOf('netty', 'reactor_netty'),
    'netty',
    'How reading pauses at broker.in-flight-limit. netty: it continues as soon as one answer is sent. reactor_netty: it continues when three quarters of the answers are sent.',
  ),
  'broker.boss-threads': row(
    integer({ min: 1, max: 1024 }),
    '1',
    'Accepted for compatibility. One event loop accepts connections.',
  ),
  'broker.worker-threads': row(
    integer({ max: 1024 }),
    '0',
    'Accepted for compatibility. One event loop does the socket work; 0 is automatic.',
  ),
  'broker.tls': row(
    boolean(),
    'false',
    'TLS 1.2 and 1.3 on the Kafka listeners; needs cert-file and key-file. The broker uses changed files within ten seconds.',
  ),
  'broker.cert-file': optional(filePath(), 'PEM certificate of the Kafka listeners with TLS, followed by its chain.'),
  'broker.key-file': optional(filePath(), 'PEM private key of the certificate, for TLS.'),
  'broker.key-password': optional(secret(), 'Passphrase of the private key for TLS, if it is encrypted.'),
  'broker.client-auth-required': row(
    boolean(),
    'false',
    'Every TLS listener demands a client certificate (mTLS); needs trust-cert-file. On a listener without SASL the principal is the distinguished name of the certificate, as Apache Kafka writes it: User:CN=alice,OU=orders.',
  ),
  'broker.trust-cert-file': optional(filePath(), 'PEM certificates of the authorities that sign the clients (mTLS).'),
  'broker.drain-timeout': row(
    duration(),
    '5s',
    'How long shutdown waits for requests in progress. Waiting fetches are answered at once.',
  ),
  'broker.fetch-max-wait': row(duration(), '500ms', 'Longest time that a fetch waits for its minimum of bytes.'),
  'broker.fetch-partition-max-bytes': row(
    size({ min: 1 }),
    '1MB',
    'Most bytes for each partition, if the fetch names no limit of its own.',
  ),
  'broker.fetch-max-bytes': row(
    size({ min: 1024, max: 2 ** 30 }),
    '55MB',
    'Largest fetch response, whatever the client asks for. The first batch is always sent whole.',
    OURS,
  ),
  'broker.fetch-session-cache-slots': row(
    integer({ max: 100_000 }),
    '1000',
    'Most fetch sessions at one time. A client without a session lists all its partitions in each fetch. 0 turns sessions off.',
    OURS,
  ),
  'broker.global-max-pending-bytes': row(
    size({ min: 1 }),
    '400MB',
    'Pending bytes of all connections together. Above this the broker stops reading from every connection.',
  ),
  'broker.global-resume-pending-bytes': row(
    size(),
    '200MB',
    'Pending bytes of all connections together. Below this the broker continues reading.',
  ),
  'broker.max-pending-bytes': row(
    size({ min: 1 }),
    '100MB',
    'Pending outbound bytes of one connection. Above this the broker stops reading from it.',
  ),
  'broker.resume-pending-bytes': row(
    size(),
    '50MB',
    'Pending outbound bytes of one connection. Below this the broker continues reading from it.',
  ),
  'broker.max-request-bytes': row(
    size({ min: 1024, max: 2 ** 31 - 1 }),
    '100MB',
    'Largest request; a larger one closes the connection.',
  ),
  'broker.in-flight-limit': row(
    integer({ min: 1, max: 1_000_000 }),
    '500',
    'Most requests in progress for one connection. At the limit the broker stops reading from it until answers are sent.',
  ),
  'broker.max-connections': row(
    integer({ min: 1 }),
    '2147483647',
    'Most connections on all listeners; a further one is closed at once. A connection beyond the file descriptors of the process is closed too.',
    OURS,
  ),
  'broker.max-connections-per-address': row(
    integer({ min: 1 }),
    '2147483647',
    'Most connections from one address; a further one is closed at once.',
    OURS,
  ),
  'broker.frame-timeout': row(
    duration({ min: 1 }),
    '60s',
    'Longest time from the first byte of a request to its last.',
    OURS,
  ),
  'broker.idle-timeout': row(
    duration({ min: 1 }),
    '10m',
    'A connection without traffic for this long is closed.',
    OURS,
  ),
  'broker.produce-timeout': row(
    duration(),
    '5s',
    'Longest time for a partition write, counted from the end of the write before it. A shorter timeout of the client counts instead. A write that takes longer gets REQUEST_TIMED_OUT. 0 removes the limit.',
  ),
  'broker.response-queue-timeout': row(
    duration({ min: 1 }),
    '10s',
    'Longest time for the request whose answer is next on its connection. A fetch has its wait time in addition, a join or sync its rebalance timeout.',
  ),
  'broker.producer-id-expiration': row(
    duration({ min: 1 }),
    '1d',
    'Idle time after which the broker forgets the sequences of an idempotent producer.',
  ),
  'broker.rebalance-delay': row(
    duration(),
    '3s',
    'How long the first rebalance of an empty group waits for further members.',
  ),
  'broker.rebalance-threads': computed(
    integer({ min: 1, max: 1024 }),
    () => Math.max(2, availableParallelism()),
    'max(2, CPU cores)',
    'Accepted for compatibility. Group coordination runs on the event loop.',
  ),
  'broker.group-reclaim-min-idle': row(
    duration(),
    '1m',
    'Accepted for compatibility. Deliveries are not tracked one by one, so there is no pending entry to reclaim.',
  ),
  'broker.group-min-session-timeout': row(
    duration({ min: 1 }),
    '6s',
    'Shortest session timeout a group member may ask for.',
    OURS,
  ),
  'broker.group-max-session-timeout': row(
    duration({ min: 1 }),
    '30m',
    'Longest session timeout a group member may ask for.',
    OURS,
  ),
  'broker.group-max-size': row(
    integer({ min: 1 }),
    '2000',
    'Most members of one group; a further one gets GROUP_MAX_SIZE_REACHED.',
    OURS,
  ),
  'broker.groups-max-bytes': row(
    size({ min: 1 }),
    '256MB',
    'Memory for the members of all groups that this broker coordinates: metadata, assignments, ids, waiting requests. Beyond it a join or an assignment gets GROUP_MAX_SIZE_REACHED. The groups themselves and their committed offsets may take the same amount again. Beyond that a new group gets GROUP_MAX_SIZE_REACHED and a new committed offset gets INVALID_COMMIT_OFFSET_SIZE. Stored groups are always loaded, and a change that takes no more memory than before is accepted.',
    OURS,
  ),
  'broker.offsets-retention': row(
    duration({ min: 1 }),
    '7d',
    'How long committed offsets are kept after their group is empty, or after the commit if the group has no members or no longer subscribes to the topic.',
    OURS,
  ),
  'broker.offsets-retention-check-interval': row(
    duration({ min: 1 }),
    '10m',
    'How often offsets that have expired, and empty groups without offsets, are removed.',
    OURS,
  ),
  'broker.authentication-timeout': row(
    duration({ min: 1 }),
    '30s',
    'Time that a client has for the TLS handshake and SASL together. Then the connection is closed.',
    OURS,
  ),
  'broker.failed-authentication-delay': row(
    duration({ max: 10_000 }),
    '100ms',
    'Time after which a client learns that its authentication failed.',
    OURS,
  ),
  'broker.acl.super-users': list(
    string(),
    [],
    'Principals that may do everything: names as in ACL rules, group:<name> included.',
    OURS,
  ),
  'broker.acl.enabled': row(
    boolean(),
    'false',
    'Allow only operations that ACL rules grant; needs broker.sasl.enabled.',
  ),
  'broker.metrics.group-lag-cardinality-cap': row(
    integer(),
    '1000',
    'Most groups with a lag gauge. With more groups all lag gauges are NaN.',
  ),
  'broker.metrics.group-lag-refresh-interval': row(
    duration({ min: 1 }),
    '15s',
    'How often svc.group.lag is refreshed.',
  ),
  'broker.metrics.offset-cardinality-cap': row(
    integer(),
    '10000',
    'Most partitions with offset gauges. With more partitions the gauges are not refreshed.',
  ),
  'broker.metrics.offset-refresh-interval': row(
    duration({ min: 1 }),
    '15s',
    'How often the offset gauges are refreshed.',
  ),
}

const MECHANISMS = ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI'] as const

/** The registered name of a SASL mechanism that a broker may advertise. */
export type MechanismName = (typeof MECHANISMS)[number]

const sasl = {
  'broker.sasl.enabled': row(boolean(), 'false', 'Clients must authenticate before any other request.'),
  'broker.sasl.mechanisms': list<MechanismName>(
    oneOf(...MECHANISMS),
    ['SCRAM-SHA-256'],
    'Mechanisms that are advertised; at least one.',
  ),
  'broker.sasl.gssapi.keytab-file': optional(filePath(), "Keytab of the broker's principal; required with GSSAPI."),
  'broker.sasl.gssapi.principal': optional(string(), 'Kerberos principal of the broker; required with GSSAPI.'),
  'broker.sasl.gssapi.service-name': row(string(), 'kafka', "Must be the clients' sasl.kerberos.service.name."),
  'broker.sasl.oauth.issuer-uri': optional(grammar.httpUri(), 'Expected iss of tokens; required with OAUTHBEARER.'),
  'broker.sasl.oauth.audience': optional(string(), 'Required aud of tokens; required with OAUTHBEARER.'),
  'broker.sasl.oauth.jwks-uri': optional(grammar.httpUri(), 'Address of the keys (JWKS) of the provider.', {
    otherwise: 'discovered',
  }),
  'broker.sasl.oauth.clock-skew': row(
    grammar.wholeSeconds(),
    '30s',
    'Accepted clock difference, rounded up to whole seconds.',
  ),
  'broker.sasl.oauth.principal-claim': row(string(), 'sub', 'Claim that becomes the principal.'),
  'broker.sasl.oauth.groups-claim': optional(
    string(),
    'Claim with groups. Each value g adds the rules of principal group:g.',
  ),
  'broker.sasl.oauth.tenant-claim': optional(string(), 'Claim with the tenant id; the broker enforces nothing by it.'),
  'broker.sasl.oauth.max-reauth': row(
    duration({ min: 1000 }),
    '5m',
    'Cap on the lifetime of an authenticated session.',
  ),
}

const endpoints = {
  'mcp.enabled': row(boolean(), 'false', 'Serve the MCP endpoint for agents, at /mcp of the HTTP port.'),
  'mcp.token': optional(
    secret(),
    'Bearer token that MCP clients present while admin security is enabled; at least 32 characters are wise.',
  ),
  'mcp.mutations-enabled': row(
    boolean(),
    'false',
    'Let agents change topics, records, groups, schemas and offload jobs. Without it the tools for changes do not exist.',
    OURS,
  ),
  'mcp.messages-enabled': row(
    boolean(),
    'true',
    'Let agents read records. Without it the tools that show records do not exist.',
    OURS,
  ),
  'mcp.allowed-hosts': list(
    advertisedHost(),
    [],
    'Host names by which MCP clients may reach the broker, beside IP addresses, localhost and the advertised hosts.',
    OURS,
  ),
  'ui.enabled': row(boolean(), 'true', 'Serve the web console.'),
}

const redis = {
  'redis.uri': optional(grammar.redisUri(), 'redis:// or rediss:// URI; replaces host, port, username and password.'),
  'redis.host': row(bindHost(), 'localhost', 'Host of the store.'),
  'redis.port': row(integer({ min: 1, max: 65535 }), '6379', 'Port of the store.'),
  'redis.username': optional(string(), 'User of the store; unset if the store has only a password.'),
  'redis.password': optional(secret(), 'Password of the store.'),
  'redis.cluster': row(boolean(), 'false', 'Treat the store as a cluster.'),
  'redis.io-threads': computed(
    integer({ min: 1, max: 1024 }),
    () => availableParallelism(),
    'CPU cores',
    'Accepted for compatibility.',
  ),
  'redis.timeout': row(duration({ min: 1 }), '1m', 'Longest time that one command may take.'),
  'redis.circuit-breaker.enabled': row(boolean(), 'true', 'Stop asking a store that keeps failing.'),
  'redis.circuit-breaker.log-interval': row(duration(), '30s', 'Shortest time between log lines about the breaker.'),
  'redis.circuit-breaker.open-duration': row(duration(), '30s', 'How long the breaker stays open before a probe.'),
  'redis.metrics.enabled': row(boolean(), 'false', 'Measure the latency of commands.'),
  'redis.metrics.histogram': row(boolean(), 'false', 'Latency histograms for each command; needs metrics.enabled.'),
  'redis.metrics.local-distinction': row(
    boolean(),
    'false',
    'Measure commands separately for each local socket address.',
  ),
  'redis.metrics.max-latency': row(duration({ min: 1 }), '5m', 'Highest bucket bound of the histograms.'),
  'redis.metrics.min-latency': row(duration(), '1ms', 'Lowest bucket bound of the histograms.'),
  'redis.pool.max-wait': row(duration(), '3s', 'Longest wait for a free connection.'),
  'redis.pool.size': row(
    integer({ min: 1, max: 10_000 }),
    '32',
    'Partition appends in flight at one time, each on its own connection.',
  ),
}

type RedisSettings = typeof redis
type ValueOf<S> = S extends Setting<infer T> ? T : never
type StorageRedisSettings = {
  [K in keyof RedisSettings as `storage.local.${K}`]: Setting<ValueOf<RedisSettings[K]> | null>
}

/** The same keys for the storage store. They have no defaults: an unset key has the `redis.*` value. */
function sparse(): StorageRedisSettings {
  const rows = Object.entries(redis).map(([key, { shape }]) => {
    const doc = `Overrides svc.${key} for storage traffic.`
    return [`storage.local.${key}`, Object.freeze({ shape, fallback: () => null, fallbackText: `svc.${key}`, doc })]
  })
  return Object.fromEntries(rows) as StorageRedisSettings
}

const storageRedis = sparse()

const registry = {
  'schema-registry.enabled': row(boolean(), 'true', 'Serve the schema registry.'),
  'schema-registry.default-compatibility': row(
    oneOf('backward', 'backward_transitive', 'forward', 'forward_transitive', 'full', 'full_transitive', 'none'),
    'backward',
    'Compatibility level of new subjects.',
  ),
  'schema-registry.validate-produce': row(
    boolean(),
    'true',
    'Refuse records whose key or value is not valid. If its subject has a live version, the key or value must name a schema that the subject has in any version, also a deleted one; it must decode with that schema to its last byte; and if the level of the subject contains backward or full, the latest version must be able to read it. Null passes. Topic configs change this for one topic.',
  ),
  'schema-registry.validate-timeout': row(
    duration({ min: 1, max: 60_000 }),
    '200ms',
    'Most processor time for the check of one record against a JSON schema. A record that takes more is not valid.',
    OURS,
  ),
  'schema-registry.port': optional(
    port(),
    'TCP port that serves the schema registry alone, at the root path, on server.address. For tools that know only a host and a port; server.port serves it under /schema-registry.',
    OURS,
  ),
  'schema-registry.authentication': row(
    oneOf('auto', 'basic', 'none'),
    'auto',
    'basic: clients of the schema registry must send HTTP Basic credentials. none: they need none. auto is basic if Kafka clients must authenticate (SASL or broker.client-auth-required). Otherwise every client may read, look up and check with auto, and a client without credentials may register from a loopback address or on schema-registry.port.',
    OURS,
  ),
}

const localStorage = {
  'storage.local.engine': row(
    oneOf('auto', 'redis', 'embedded'),
    'auto',
    'The store of the local tier. auto is redis when a uri, host, port or cluster of svc.redis or svc.storage.local.redis is set, else embedded.',
    OURS,
  ),
  'storage.local.embedded.path': row(
    folderPath(),
    './data',
    'Folder of the embedded store; only one broker can use it at a time.',
    OURS,
  ),
  'storage.local.embedded.fsync': row(
    oneOf('always', 'interval'),
    'always',
    'always: an acknowledged write is on the disk. interval: a power loss may lose the writes of up to fsync-interval and one flush; a killed process loses nothing.',
    OURS,
  ),
  'storage.local.embedded.fsync-interval': row(
    duration({ min: 1, max: 3_600_000 }),
    '1s',
    'Time between flushes when fsync is interval.',
    OURS,
  ),
  'storage.local.embedded.journal-file-bytes': row(
    size({ min: 2 ** 20, max: 2 ** 32 }),
    '256MB',
    'Size at which a journal file is full and the next begins; never more than a sixteenth of the disk.',
    OURS,
  ),
  'storage.local.tail-cache-bytes': row(
    size(),
    '128MB',
    'Memory for the newest batches of all partitions together.',
    OURS,
  ),
  'storage.local.compression.codec': row(
    oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'),
    'none',
    'Codec of topics whose creator does not set storage.compression.type. A change applies to topics that are created later.',
  ),
  'storage.local.compression.dictionary.max-sample-bytes': row(
    integer({ min: 1 }),
    '16777216',
    'Most sampled bytes of a topic that wait for training; reaching it also starts training.',
  ),
  'storage.local.compression.dictionary.sample-count': row(
    integer({ min: 100 }),
    '10000',
    'Number of samples that starts training.',
  ),
  'storage.local.compression.dictionary.size-bytes': row(
    integer({ min: 256 }),
    '65536',
    'Size of a trained zstd dictionary.',
  ),
  'storage.local.read.connections': row(integer({ min: 1, max: 1024 }), '8', 'Connections that read streams.'),
  'storage.local.write.connections': row(integer({ min: 1, max: 1024 }), '8', 'Connections that append to streams.'),
  'storage.local.write.wait-replicas': row(
    integer({ max: 1024 }),
    '0',
    'Number of replicas that must have a write before it is acknowledged.',
  ),
  'storage.local.write.wait-timeout': row(
    duration({ min: 1 }),
    '1s',
    'Longest wait for those replicas; then the produce fails and the producer may retry.',
  ),
}

const remoteStorage = {
  'storage.remote.path': optional(
    grammar.remotePath(),
    'Where the remote tier keeps its tables: s3://bucket or s3://bucket/prefix, or the absolute path of a folder that all brokers share. Unset or blank: the broker has no remote tier, and local data only.',
  ),
  'storage.remote.verify': row(
    oneOf('sample', 'full'),
    'sample',
    'How much of an uploaded file is read back before local data may go. sample: its length, its footer and one row group. full: all of it.',
    OURS,
  ),
  'storage.remote.iceberg.row-group-size': row(
    size({ min: 1 }),
    '128MB',
    'Most bytes of a row group in data files. A group ends earlier if the encoders reach offload.memory.',
  ),
  'storage.remote.iceberg.target-file-size': row(size({ min: 1 }), '128MB', 'Most bytes of a data file.'),
  'storage.remote.iceberg.batch-bytes': row(
    oneOf('when-needed', 'always', 'never'),
    'when-needed',
    'When a data file keeps the original bytes of a record batch beside its columns. when-needed: if the columns cannot restore them at once, as for compressed batches. never: only if they cannot restore them at all.',
    OURS,
  ),
  'storage.remote.iceberg.offload.threads': row(
    integer({ min: 1, max: 1024 }),
    '4',
    'Offloads that run at the same time.',
  ),
  'storage.remote.iceberg.offload.memory': row(
    size({ min: 64 * 2 ** 20 }),
    '512MB',
    'Memory for all offloads together: open row groups, bytes on their way to the tables, and 64 MiB for each encoder thread that works (less if all threads would take more than half). The parts of uploads to S3 come on top, 24 MB for each file.',
    OURS,
  ),
  'storage.remote.iceberg.max-file-wait': row(
    duration(),
    '10m',
    'Longest time that a small segment waits for its neighbours to share a data file. 0: it waits for none.',
    OURS,
  ),
  'storage.remote.iceberg.read.queue-capacity': row(
    integer(),
    '64',
    'Remote reads that may wait; further ones fail at once.',
  ),
  'storage.remote.iceberg.read.threads': row(
    integer({ min: 1, max: 1024 }),
    '4',
    'Remote reads that run at the same time.',
  ),
  'storage.remote.iceberg.read.cache-bytes': row(size(), '64MB', 'Memory for row groups that were read.', OURS),
  'storage.remote.iceberg.keep-deleted-tables': row(
    boolean(),
    'false',
    'Keep the tables of deleted topics. By default the worker drops them a day after the deletion.',
    OURS,
  ),
  'storage.remote.catalog.namespace': row(
    grammar.tableNamespace(),
    'default',
    'Iceberg namespace of the tables, and the folder that they are in. After a change the broker does not find the tables that it has written.',
    OURS,
  ),
  'storage.remote.catalog.token': optional(
    secret(),
    'Bearer token with which SQL engines may read the Iceberg catalog. Console users may read it too.',
    OURS,
  ),
  'storage.remote.metrics.common-tags': map(string(), 'Further tags on the meters of the remote tier.'),
  'storage.remote.metrics.enabled': row(boolean(), 'true', 'Measure the remote tier.'),
  'storage.remote.s3.endpoint': optional(grammar.httpUri(), "Endpoint of an S3-compatible store. Unset: AWS's own."),
  'storage.remote.s3.path-style-access': optional(
    boolean(),
    'Address buckets by path; most S3-compatible stores need it.',
  ),
  'storage.remote.s3.region': optional(
    string(),
    'Region of the bucket. Unset: where the AWS tools find it (environment, files of the user).',
  ),
  'storage.remote.s3.access-key-id': optional(
    string(),
    'Access key id. Unset: where the AWS tools find it (environment, files of the user, machine).',
  ),
  'storage.remote.s3.secret-access-key': optional(secret(), 'Secret access key of the access key id.'),
  'storage.worker.enabled': row(
    boolean(),
    'true',
    'Let this broker run the storage worker of the cluster, which rolls segments, drops old data and cleans compacted topics (and, with the remote tier, offloads segments). One broker at a time does: the one that holds the lease. If no broker may, no data is dropped.',
  ),
  'storage.worker.tick-interval': row(
    duration({ min: 1 }),
    '1m',
    'How often the worker starts a round over all partitions.',
  ),
  'storage.worker.tick-concurrency': row(
    integer({ min: 1, max: MOST_TICK_CONCURRENCY }),
    '8',
    'Partitions that are handled at the same time, in the whole cluster.',
  ),
  'storage.worker.lease-duration': row(
    duration({ min: 1 }),
    '2m',
    'How long the broker that runs the worker may give no sign of life before another one takes over. It stops by itself after half of that. Must be longer than tick-interval.',
  ),
  'storage.worker.dedupe-buffer': row(
    size({ min: 24 * 1024, max: 2 ** 31 - 1 }),
    '64MB',
    'Memory in which the cleaner of a broker keeps the keys of one pass, 24 bytes for each key. If the keys do not fit, the next pass goes on with the rest.',
    OURS,
  ),
  'storage.worker.offload-jobs.max-attempts': row(
    integer({ min: 1 }),
    '5',
    'Attempts to offload a segment before its job is suspended.',
  ),
  'storage.worker.offload-jobs.retention-count': row(
    integer(),
    '1000',
    'Most done offload jobs that are kept; the oldest go first. Failed and cancelled jobs stay.',
  ),
}

const surroundings = {
  'server.port': row(port(), '8080', 'TCP port of the admin API and the console.'),
  'server.address': optional(bindHost(), 'Address the admin API binds.', { otherwise: 'all interfaces' }),
  'server.tls': row(
    boolean(),
    'false',
    'TLS 1.2 and 1.3 on the HTTP port; needs cert-file and key-file. The broker uses changed files within ten seconds.',
    OURS,
  ),
  'server.cert-file': optional(filePath(), 'PEM certificate of the HTTP port, followed by its chain.', OURS),
  'server.key-file': optional(filePath(), 'PEM private key of the certificate.', OURS),
  'server.key-password': optional(secret(), 'Passphrase of the private key, if it is encrypted.', OURS),
  'logging.level': map(
    grammar.level(),
    'Level of a logger and of those below it: logging.level.root=INFO, logging.level.svc.kafka=DEBUG.',
  ),
  'logging.structured.format.console': optional(oneOf('logstash'), 'logstash writes each log line as a JSON object.', {
    otherwise: 'plain text',
  }),
  'management.endpoint.health.probes.enabled': row(boolean(), 'true', 'Serve the liveness and readiness sub-paths.'),
  'management.endpoints.web.exposure.include': list(
    string(),
    ['health', 'info', 'prometheus'],
    'Actuator endpoints that the broker serves. Log levels can be changed only if loggers is one of them.',
  ),
}

/** The endpoints that `management.endpoints.web.exposure.include` may name, beside `*` for all. */
export const ACTUATOR_ENDPOINTS = Object.freeze(['health', 'info', 'prometheus', 'loggers'] as const)

/** The table in the order of the reference page. */
export const sections = Object.freeze([
  { title: 'General', rows: general },
  { title: 'Topic patterns', rows: topics },
  { title: 'Broker', rows: broker },
  { title: 'SASL', rows: sasl },
  { title: 'Local storage tier', rows: localStorage },
  { title: 'Remote storage tier and worker', rows: remoteStorage },
  { title: 'Primary key-value store client', rows: redis },
  { title: 'Storage store client (sparse overrides)', rows: storageRedis },
  { title: 'Schema registry', rows: registry },
  { title: 'Admin', rows: admin },
  { title: 'Console single sign-on', rows: sso },
  { title: 'Agent endpoint and user interface', rows: endpoints },
  { title: 'HTTP server, logging, management', rows: surroundings },
] as const)

const table = Object.freeze({
  ...general,
  ...topics,
  ...broker,
  ...sasl,
  ...localStorage,
  ...remoteStorage,
  ...redis,
  ...storageRedis,
  ...registry,
  ...admin,
  ...sso,
  ...endpoints,
  ...surroundings,
})

type Table = typeof table
export type Key = keyof Table
export type Value<K extends Key> = ValueOf<Table[K]>
export type Values = { readonly [K in Key]: Value<K> }

/** Every row by its key. */
export const settingsTable: Readonly<Record<Key, Setting<unknown>>> = table

export const keys: readonly Key[] = Object.freeze(Object.keys(table) as Key[])

/** The key as the file, the command line and messages write it: `svc.` and the key, or the key of another family. */
export function fullKey(key: Key): string {
  return /^(server\.(port|address)$|logging\.|management\.)/.test(key) ? key : `svc.${key}`
}

/** Returns the property for a field name of a list entry: `autoCreate` for `auto-create`. */
export function propertyName(fieldName: string): string {
  return fieldName.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the field name for a property: `auto-create` for `autoCreate`. */
export function fieldName(property: string): string {
  return property.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

/** The settings of one broker: immutable, every key present. */
export interface Settings {
  /** Returns the value. Durations are milliseconds, sizes are bytes, keys without a value are null. */
  get<K extends Key>(key: K): Value<K>
  /**
   * Returns `default`, `environment variable SVC_…`, `command line`, or file:line:column. `part` (`[0].name`) asks
   * for one part of a list.
   */
  origin(key: Key, part?: string): string
  /** Whether any source set the key. */
  isSet(key: Key): boolean
  /**
   * Returns the value as an operator would write it: an empty list or map is an empty text, a missing value is
   * `unset`, a secret is masked.
   */
  show(key: Key): string
  /** Warnings that the operator should read once at startup; the process continues. */
  readonly warnings: readonly string[]
  /** One sentence for each value that a source of higher precedence replaced. It contains no values. */
  readonly overrides: readonly string[]
  /** The absolute path of the file that was read; null if there was none. */
  readonly file: string | null
}

/** The broker cannot use a setting. The message is ready to print, and the process ends with exit status 1. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** The value that the sources give one key, and its origin. */
export interface GivenValue {
  readonly value: unknown
  readonly origin: string
  /** The value for people, masked if it is a secret. */
  readonly shown: string
  /** The origin of each part of a list, by `[0].name`. */
  readonly partOrigins?: ReadonlyMap<string, string>
}

/** Returns settings with these values; the other keys have their defaults. */
export function makeSettings(
  given: ReadonlyMap<Key, GivenValue>,
  notes: Pick<Settings, 'warnings' | 'overrides' | 'file'>,
): Settings {
  // No closure of this function may have a reference to `given`, which has the secrets as strings.
  const values = valuesOf(given)
  const told = toldOf(given)
  return Object.freeze({
    get: <K extends Key>(key: K) => values.get(key)!() as Value<K>,
    origin: (key: Key, part = '') => told.get(key)?.partOrigins?.get(part) ?? told.get(key)?.origin ?? 'default',
    isSet: (key: Key) => told.has(key),
    show: (key: Key) => told.get(key)?.shown ?? showFallback(key),
    warnings: Object.freeze([...notes.warnings]),
    overrides: Object.freeze([...notes.overrides]),
    file: notes.file,
  })
}

function isSecret(key: Key): boolean {
  const { shape } = settingsTable[key]
  return shape.kind === 'one' && shape.type.name === 'secret'
}

function valuesOf(given: ReadonlyMap<Key, GivenValue>): ReadonlyMap<Key, () => unknown> {
  return new Map(keys.map(key => [key, keep(key, given.has(key) ? given.get(key)!.value : table[key].fallback())]))
}

function toldOf(given: ReadonlyMap<Key, GivenValue>): ReadonlyMap<Key, Omit<GivenValue, 'value'>> {
  return new Map(Array.from(given, ([key, { value: _, ...rest }]) => [key, rest]))
}

/** Returns a function that gives the value. It keeps a secret as bytes: a heap snapshot contains every string. */
function keep(key: Key, value: unknown): () => unknown {
  return typeof value === 'string' && isSecret(key) ? textOf(Buffer.from(value)) : () => value
}

/** A function of its own, so that the closure does not share a context with the string. */
function textOf(bytes: Buffer): () => string {
  return () => bytes.toString()
}

function showFallback(key: Key): string {
  const { fallbackText } = settingsTable[key]
  return isSecret(key) && fallbackText !== null ? grammar.MASK : (fallbackText ?? 'unset')
}

/** Returns settings for tests: the defaults and the values of the test, read from no source and not checked. */
export function testSettings(overrides: Partial<Values> = {}): Settings {
  const given = Object.entries(overrides).map(
    ([key, value]) => [key as Key, { value: value as unknown, origin: 'test', shown: String(value) }] as const,
  )
  return makeSettings(new Map(given), { warnings: [], overrides: [], file: null })
}
