// The fixed words of the admin API, such as roles and sort names. The schemas, the code that decides by these words and
// the command line import them from here. This file has no schema, so that a command starts without zod.

export const ROLES = Object.freeze(['ADMIN', 'VIEWER'] as const)
export type Role = (typeof ROLES)[number]

/** SASL mechanisms of credentials that the store keeps. */
export const MECHANISMS = Object.freeze(['SCRAM-SHA-256', 'PLAIN'] as const)
export type Mechanism = (typeof MECHANISMS)[number]

/**
 * The allowed iterations of a credential. RFC 7677 asks for 4096 or more. The largest number costs about 150 ms of a
 * core for each client that connects.
 */
export const ITERATIONS = Object.freeze({ min: 4_096, max: 1_000_000, fallback: 10_000 })

export const RESOURCE_TYPES = Object.freeze(['TOPIC', 'GROUP'] as const)
export const OPERATIONS = Object.freeze(['READ', 'WRITE'] as const)
export type ResourceType = (typeof RESOURCE_TYPES)[number]
export type Operation = (typeof OPERATIONS)[number]

export const LEVELS = Object.freeze(['OFF', 'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const)

export const ORDERS = Object.freeze(['asc', 'desc'] as const)

export const TOPIC_SORTS = Object.freeze([
  'name',
  'partitions',
  'records',
  'sizeBytes',
  'createdAt',
  'lastWriteAt',
] as const)

export type TopicSort = (typeof TOPIC_SORTS)[number]

/** The sorts that a broker can compute without asking partitions. */
export const RANKED_TOPIC_SORTS = Object.freeze(['name', 'partitions', 'createdAt'] as const satisfies TopicSort[])
export type RankedTopicSort = (typeof RANKED_TOPIC_SORTS)[number]

/** Whose metrics an answer has: those of the broker that answers, or the sums over the living brokers. */
export const METRIC_SCOPES = Object.freeze(['broker', 'cluster'] as const)

export const TOPIC_METRIC_SORTS = Object.freeze([
  'name',
  'produce.recordsPerSecond',
  'produce.bytesPerSecond',
  'produce.requestsPerSecond',
  'fetch.recordsPerSecond',
  'fetch.bytesPerSecond',
  'fetch.requestsPerSecond',
  'produce.latencyMs.p99',
  'fetch.latencyMs.p99',
] as const)
export type TopicMetricSort = (typeof TOPIC_METRIC_SORTS)[number]

/** How keys and values are shown. `registry`: decoded with the schema that the bytes or a header of the record name. */
export const DECODINGS = Object.freeze(['raw', 'utf8', 'json', 'registry'] as const)
export type Decoding = (typeof DECODINGS)[number]

/**
 * The largest body of a request that produces records, in bytes: a record of the largest default size as base64, with
 * the JSON around it.
 */
export const PRODUCE_BODY_BYTES = 2 * 1024 * 1024
/**
 * The most values of such a body, names of members included: 1,000 records of ten headers, each with a key, a value and
 * their schemas. VALUES_OF_RECORD is the most of one record without its headers.
 */
export const PRODUCE_BODY_VALUES = 110_000
export const VALUES_OF_RECORD = 40
export const VALUES_OF_HEADER = 7

export const FILE_FORMATS = Object.freeze(['ndjson', 'csv'] as const)
export const READING_ORDERS = Object.freeze(['oldest', 'newest'] as const)
export const EDGES = Object.freeze(['earliest', 'latest'] as const)

/**
 * The targets of an offset reset. `clear` deletes the offset: consumers then begin where their own auto.offset.reset
 * says.
 */
export const RESET_TARGETS = Object.freeze(['clear', 'earliest', 'latest', 'offset', 'timestamp'] as const)

/** The capabilities that a broker of some version can have. settings/capabilities.ts says which this version has. */
export const CAPABILITIES = Object.freeze([
  'tls',
  'sasl',
  'acls',
  'export',
  'schema-registry',
  'remote-tier',
  'compaction',
  'mcp',
] as const)

export const CAPABILITY_STATES = Object.freeze(['on', 'off', 'absent'] as const)
export const STORE_ENGINES = Object.freeze(['embedded', 'redis', 'redis-cluster'] as const)

/** The values of a Kafka client's security.protocol. */
export const SECURITY_PROTOCOLS = Object.freeze(['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const)
export type SecurityProtocol = (typeof SECURITY_PROTOCOLS)[number]

/** The units of configs and settings whose value is a bare number. */
export const UNITS = Object.freeze(['ms', 'minutes', 'hours', 'bytes', 'records'] as const)

/**
 * The outcomes of the part of one broker in a round of the storage worker. `waiting`: it has not answered yet.
 * `running`: its part goes on. `refused`: it did not begin, for a reason. `silent`: it did not answer. `abandoned`: the
 * broker that had started the round lost the lease or closed.
 */
export const ROUND_OUTCOMES = Object.freeze(['waiting', 'running', 'done', 'refused', 'silent', 'abandoned'] as const)

/** The states of the circuit breaker between a broker and its store. */
export const BREAKER_STATES = Object.freeze(['disabled', 'closed', 'half-open', 'open'] as const)

/**
 * The states of an offload job. `failed`: the last attempt failed; the worker tries again unless the job is suspended.
 * `cancelled`: an operator, or retention, wants no attempt any more.
 */
export const JOB_STATUSES = Object.freeze(['pending', 'running', 'done', 'failed', 'cancelled'] as const)
export type JobStatus = (typeof JOB_STATUSES)[number]

export const JOB_SORTS = Object.freeze(['topic', 'createdAt', 'startedAt', 'bytes'] as const)

/** The breaker before the object store has no half-open state: a probe asks for it, and no request of a client. */
export const REMOTE_BREAKER_STATES = Object.freeze(['closed', 'open'] as const)

/** Whether an object store creates an object only once. No commit is made where it does not. */
export const CREATE_ONLY_STATES = Object.freeze(['unknown', 'kept', 'broken'] as const)

/**
 * Where a segment is. `both`: all of its offsets are in the remote tier, and its batches are still in the local one.
 * `remote`: the local tier has dropped it.
 */
export const SEGMENT_TIERS = Object.freeze(['local', 'both', 'remote'] as const)
export type SegmentTier = (typeof SEGMENT_TIERS)[number]

/**
 * The outcomes of the inspection of a segment in the remote tier. `none`: no offset of it is there. `full`: too many
 * inspections wait. `late`: it takes longer than a caller waits. `failed`: the remote tier does not answer.
 */
export const INSPECTIONS = Object.freeze(['none', 'done', 'full', 'late', 'failed'] as const)
export type InspectionOutcome = (typeof INSPECTIONS)[number]

/** The formats of schemas, by Confluent's names. */
export const SCHEMA_TYPES = Object.freeze(['AVRO', 'JSON', 'PROTOBUF'] as const)
export type SchemaTypeName = (typeof SCHEMA_TYPES)[number]

/** The levels of compatibility between the versions of a subject. */
export const SCHEMA_LEVELS = Object.freeze([
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const)
export type SchemaLevel = (typeof SCHEMA_LEVELS)[number]

/** READONLY refuses changes; IMPORT takes schemas with the ids of another registry. */
export const SCHEMA_MODES = Object.freeze(['READWRITE', 'READONLY', 'IMPORT'] as const)
export type SchemaMode = (typeof SCHEMA_MODES)[number]

/** Where a level or a mode comes from. `default`: neither the subject nor the registry has one of its own. */
export const SCHEMA_ORIGINS = Object.freeze(['subject', 'global', 'default'] as const)

/** Whether a list of subjects or versions has those that are deleted but not removed. */
export const DELETED_CHOICES = Object.freeze(['hide', 'show', 'only'] as const)

export const SUBJECT_SORTS = Object.freeze([
  'subject',
  'latestVersion',
  'latestId',
  'versionCount',
  'registeredAt',
] as const)

/** The parts of a record that a schema describes. */
export const RECORD_PARTS = Object.freeze(['key', 'value'] as const)

/** The answer to a record that is not valid. `off`: the part is not judged. */
export const JUDGE_ACTIONS = Object.freeze(['reject', 'count', 'off'] as const)

/** How the subject of a record is found: by its topic, by the name of its record type, or by both. */
export const SUBJECT_STRATEGIES = Object.freeze(['TopicName', 'RecordName', 'TopicRecordName'] as const)

export const JUDGED_TOPIC_SORTS = Object.freeze(['topic', 'refused'] as const)

/** The path of the agent tools on the HTTP port. */
export const AGENTS_PATH = '/mcp'
