// Every error code of the Kafka protocol (org.apache.kafka.common.protocol.Errors, 4.3) as a frozen refusal. A
// refusal is an expected no: functions return it and do not throw it, and it becomes the error code of a row in a
// response. The code that builds the response decides whether the connection closes or the work is retried.

export interface Refusal {
  readonly kind: 'refusal'
  readonly code: number
  /** Kafka's name of the code. */
  readonly name: string
  /** Whether a client may send the same request again, as Kafka's own clients decide it. */
  readonly retriable: boolean
  /** One sentence for people. */
  readonly message: string
  /** The records of a refused batch that are the reason (KIP-467). */
  readonly recordErrors?: readonly RecordError[]
  /** True: data is damaged, so a later attempt is refused too, even if the code is retriable. */
  readonly isDamage?: true
  /** The answer is held back for this time, in ms. Nothing else waits. */
  readonly holdMs?: number
}

export interface RecordError {
  /** The number of the record in its batch, from 0 on. */
  readonly batchIndex: number
  readonly batchIndexErrorMessage: string
}

/** The code of a response without an error. */
export const NONE = 0

function refusal(code: number, name: string, retriable: boolean, message: string): Refusal {
  return Object.freeze({ kind: 'refusal', code, name, retriable, message })
}

const FINAL = false
const RETRIABLE = true

export const UNKNOWN_SERVER_ERROR = refusal(
  -1,
  'UNKNOWN_SERVER_ERROR',
  FINAL,
  'The server experienced an unexpected error when processing the request.',
)
export const OFFSET_OUT_OF_RANGE = refusal(
  1,
  'OFFSET_OUT_OF_RANGE',
  FINAL,
  'The requested offset is not within the range of offsets maintained by the server.',
)
export const CORRUPT_MESSAGE = refusal(
  2,
  'CORRUPT_MESSAGE',
  RETRIABLE,
  'This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt.',
)
export const UNKNOWN_TOPIC_OR_PARTITION = refusal(
  3,
  'UNKNOWN_TOPIC_OR_PARTITION',
  RETRIABLE,
  'This server does not host this topic-partition.',
)
export const INVALID_FETCH_SIZE = refusal(4, 'INVALID_FETCH_SIZE', FINAL, 'The requested fetch size is invalid.')
export const LEADER_NOT_AVAILABLE = refusal(
  5,
  'LEADER_NOT_AVAILABLE',
  RETRIABLE,
  'There is no leader for this topic-partition as we are in the middle of a leadership election.',
)
export const NOT_LEADER_OR_FOLLOWER = refusal(
  6,
  'NOT_LEADER_OR_FOLLOWER',
  RETRIABLE,
  'For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.',
)
export const REQUEST_TIMED_OUT = refusal(7, 'REQUEST_TIMED_OUT', RETRIABLE, 'The request timed out.')
export const BROKER_NOT_AVAILABLE = refusal(8, 'BROKER_NOT_AVAILABLE', FINAL, 'The broker is not available.')
export const REPLICA_NOT_AVAILABLE = refusal(
  9,
  'REPLICA_NOT_AVAILABLE',
  RETRIABLE,
  'The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the topic-partition.',
)
export const MESSAGE_TOO_LARGE = refusal(
  10,
  'MESSAGE_TOO_LARGE',
  FINAL,
  'The request included a message larger than the max message size the server will accept.',
)
export const STALE_CONTROLLER_EPOCH = refusal(
  11,
  'STALE_CONTROLLER_EPOCH',
  FINAL,
  'The controller moved to another broker.',
)
export const OFFSET_METADATA_TOO_LARGE = refusal(
  12,
  'OFFSET_METADATA_TOO_LARGE',
  FINAL,
  'The metadata field of the offset request was too large.',
)
export const NETWORK_EXCEPTION = refusal(
  13,
  'NETWORK_EXCEPTION',
  RETRIABLE,
  'The server disconnected before a response was received.',
)
export const COORDINATOR_LOAD_IN_PROGRESS = refusal(
  14,
  'COORDINATOR_LOAD_IN_PROGRESS',
  RETRIABLE,
  "The coordinator is loading and hence can't process requests.",
)
export const COORDINATOR_NOT_AVAILABLE = refusal(
  15,
  'COORDINATOR_NOT_AVAILABLE',
  RETRIABLE,
  'The coordinator is not available.',
)
export const NOT_COORDINATOR = refusal(16, 'NOT_COORDINATOR', RETRIABLE, 'This is not the correct coordinator.')
export const INVALID_TOPIC_EXCEPTION = refusal(
  17,
  'INVALID_TOPIC_EXCEPTION',
  FINAL,
  'The request attempted to perform an operation on an invalid topic.',
)
export const RECORD_LIST_TOO_LARGE = refusal(
  18,
  'RECORD_LIST_TOO_LARGE',
  FINAL,
  'The request included message batch larger than the configured segment size on the server.',
)
export const NOT_ENOUGH_REPLICAS = refusal(
  19,
  'NOT_ENOUGH_REPLICAS',
  RETRIABLE,
  'Messages are rejected since there are fewer in-sync replicas than required.',
)
export const NOT_ENOUGH_REPLICAS_AFTER_APPEND = refusal(
  20,
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  RETRIABLE,
  'Messages are written to the log, but to fewer in-sync replicas than required.',
)
export const INVALID_REQUIRED_ACKS = refusal(
  21,
  'INVALID_REQUIRED_ACKS',
  FINAL,
  'Produce request specified an invalid value for required acks.',
)
export const ILLEGAL_GENERATION = refusal(
  22,
  'ILLEGAL_GENERATION',
  FINAL,
  'Specified group generation id is not valid.',
)
export const INCONSISTENT_GROUP_PROTOCOL = refusal(
  23,
  'INCONSISTENT_GROUP_PROTOCOL',
  FINAL,
  "The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list.",
)
export const INVALID_GROUP_ID = refusal(24, 'INVALID_GROUP_ID', FINAL, 'The group id is invalid.')
export const UNKNOWN_MEMBER_ID = refusal(25, 'UNKNOWN_MEMBER_ID', FINAL, 'The coordinator is not aware of this member.')
export const INVALID_SESSION_TIMEOUT = refusal(
  26,
  'INVALID_SESSION_TIMEOUT',
  FINAL,
  'The session timeout is not within the range allowed by the broker (as configured by group.min.session.timeout.ms and group.max.session.timeout.ms).',
)
export const REBALANCE_IN_PROGRESS = refusal(
  27,
  'REBALANCE_IN_PROGRESS',
  FINAL,
  'The group is rebalancing, so a rejoin is needed.',
)
export const INVALID_COMMIT_OFFSET_SIZE = refusal(
  28,
  'INVALID_COMMIT_OFFSET_SIZE',
  FINAL,
  'The committing offset data size is not valid.',
)
export const TOPIC_AUTHORIZATION_FAILED = refusal(
  29,
  'TOPIC_AUTHORIZATION_FAILED',
  FINAL,
  'Topic authorization failed.',
)
export const GROUP_AUTHORIZATION_FAILED = refusal(
  30,
  'GROUP_AUTHORIZATION_FAILED',
  FINAL,
  'Group authorization failed.',
)
export const CLUSTER_AUTHORIZATION_FAILED = refusal(
  31,
  'CLUSTER_AUTHORIZATION_FAILED',
  FINAL,
  'Cluster authorization failed.',
)
export const INVALID_TIMESTAMP = refusal(
  32,
  'INVALID_TIMESTAMP',
  FINAL,
  'The timestamp of the message is out of acceptable range.',
)
export const UNSUPPORTED_SASL_MECHANISM = refusal(
  33,
  'UNSUPPORTED_SASL_MECHANISM',
  FINAL,
  'The broker does not support the requested SASL mechanism.',
)
export const ILLEGAL_SASL_STATE = refusal(
  34,
  'ILLEGAL_SASL_STATE',
  FINAL,
  'Request is not valid given the current SASL state.',
)
export const UNSUPPORTED_VERSION = refusal(35, 'UNSUPPORTED_VERSION', FINAL, 'The version of API is not supported.')
export const TOPIC_ALREADY_EXISTS = refusal(36, 'TOPIC_ALREADY_EXISTS', FINAL, 'Topic with this name already exists.')
export const INVALID_PARTITIONS = refusal(37, 'INVALID_PARTITIONS', FINAL, 'Number of partitions is below 1.')
export const INVALID_REPLICATION_FACTOR = refusal(
  38,
  'INVALID_REPLICATION_FACTOR',
  FINAL,
  'Replication factor is below 1 or larger than the number of available brokers.',
)
export const INVALID_REPLICA_ASSIGNMENT = refusal(
  39,
  'INVALID_REPLICA_ASSIGNMENT',
  FINAL,
  'Replica assignment is invalid.',
)
export const INVALID_CONFIG = refusal(40, 'INVALID_CONFIG', FINAL, 'Configuration is invalid.')
export const NOT_CONTROLLER = refusal(
  41,
  'NOT_CONTROLLER',
  RETRIABLE,
  'This is not the correct controller for this cluster.',
)
export const INVALID_REQUEST = refusal(
  42,
  'INVALID_REQUEST',
  FINAL,
  'This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details.',
)
export const UNSUPPORTED_FOR_MESSAGE_FORMAT = refusal(
  43,
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  FINAL,
  'The message format version on the broker does not support the request.',
)
export const POLICY_VIOLATION = refusal(
  44,
  'POLICY_VIOLATION',
  FINAL,
  'Request parameters do not satisfy the configured policy.',
)
export const OUT_OF_ORDER_SEQUENCE_NUMBER = refusal(
  45,
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  FINAL,
  'The broker received an out of order sequence number.',
)
export const DUPLICATE_SEQUENCE_NUMBER = refusal(
  46,
  'DUPLICATE_SEQUENCE_NUMBER',
  FINAL,
  'The broker received a duplicate sequence number.',
)
export const INVALID_PRODUCER_EPOCH = refusal(
  47,
  'INVALID_PRODUCER_EPOCH',
  FINAL,
  'Producer attempted to produce with an old epoch.',
)
export const INVALID_TXN_STATE = refusal(
  48,
  'INVALID_TXN_STATE',
  FINAL,
  'The producer attempted a transactional operation in an invalid state.',
)
export const INVALID_PRODUCER_ID_MAPPING = refusal(
  49,
  'INVALID_PRODUCER_ID_MAPPING',
  FINAL,
  'The producer attempted to use a producer id which is not currently assigned to its transactional id.',
)
export const INVALID_TRANSACTION_TIMEOUT = refusal(
  50,
  'INVALID_TRANSACTION_TIMEOUT',
  FINAL,
  'The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms).',
)
export const CONCURRENT_TRANSACTIONS = refusal(
  51,
  'CONCURRENT_TRANSACTIONS',
  RETRIABLE,
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing.',
)
export const TRANSACTION_COORDINATOR_FENCED = refusal(
  52,
  'TRANSACTION_COORDINATOR_FENCED',
  FINAL,
  'Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer.',
)
export const TRANSACTIONAL_ID_AUTHORIZATION_FAILED = refusal(
  53,
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  FINAL,
  'Transactional Id authorization failed.',
)
export const SECURITY_DISABLED = refusal(54, 'SECURITY_DISABLED', FINAL, 'Security features are disabled.')
export const OPERATION_NOT_ATTEMPTED = refusal(
  55,
  'OPERATION_NOT_ATTEMPTED',
  FINAL,
  'The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in the batch failed, causing the broker to respond without trying the rest.',
)
export const KAFKA_STORAGE_ERROR = refusal(
  56,
  'KAFKA_STORAGE_ERROR',
  RETRIABLE,
  'Disk error when trying to access log file on the disk.',
)
export const LOG_DIR_NOT_FOUND = refusal(
  57,
  'LOG_DIR_NOT_FOUND',
  FINAL,
  'The user-specified log directory is not found in the broker config.',
)
export const SASL_AUTHENTICATION_FAILED = refusal(
  58,
  'SASL_AUTHENTICATION_FAILED',
  FINAL,
  'SASL Authentication failed.',
)
export const UNKNOWN_PRODUCER_ID = refusal(
  59,
  'UNKNOWN_PRODUCER_ID',
  FINAL,
  "This exception is raised by the broker if it could not locate the producer metadata associated with the producerId in question. This could happen if, for instance, the producer's records were deleted because their retention time had elapsed. Once the last records of the producerId are removed, the producer's metadata is removed from the broker, and future appends by the producer will return this exception.",
)
export const REASSIGNMENT_IN_PROGRESS = refusal(
  60,
  'REASSIGNMENT_IN_PROGRESS',
  FINAL,
  'A partition reassignment is in progress.',
)
export const DELEGATION_TOKEN_AUTH_DISABLED = refusal(
  61,
  'DELEGATION_TOKEN_AUTH_DISABLED',
  FINAL,
  'Delegation Token feature is not enabled.',
)
export const DELEGATION_TOKEN_NOT_FOUND = refusal(
  62,
  'DELEGATION_TOKEN_NOT_FOUND',
  FINAL,
  'Delegation Token is not found on server.',
)
export const DELEGATION_TOKEN_OWNER_MISMATCH = refusal(
  63,
  'DELEGATION_TOKEN_OWNER_MISMATCH',
  FINAL,
  'Specified Principal is not valid Owner/Renewer.',
)
export const DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = refusal(
  64,
  'DELEGATION_TOKEN_REQUEST_NOT_ALLOWED',
  FINAL,
  'Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels.',
)
export const DELEGATION_TOKEN_AUTHORIZATION_FAILED = refusal(
  65,
  'DELEGATION_TOKEN_AUTHORIZATION_FAILED',
  FINAL,
  'Delegation Token authorization failed.',
)
export const DELEGATION_TOKEN_EXPIRED = refusal(66, 'DELEGATION_TOKEN_EXPIRED', FINAL, 'Delegation Token is expired.')
export const INVALID_PRINCIPAL_TYPE = refusal(
  67,
  'INVALID_PRINCIPAL_TYPE',
  FINAL,
  'Supplied principalType is not supported.',
)
export const NON_EMPTY_GROUP = refusal(68, 'NON_EMPTY_GROUP', FINAL, 'The group is not empty.')
export const GROUP_ID_NOT_FOUND = refusal(69, 'GROUP_ID_NOT_FOUND', FINAL, 'The group id does not exist.')
export const FETCH_SESSION_ID_NOT_FOUND = refusal(
  70,
  'FETCH_SESSION_ID_NOT_FOUND',
  RETRIABLE,
  'The fetch session ID was not found.',
)
export const INVALID_FETCH_SESSION_EPOCH = refusal(
  71,
  'INVALID_FETCH_SESSION_EPOCH',
  RETRIABLE,
  'The fetch session epoch is invalid.',
)
export const LISTENER_NOT_FOUND = refusal(
  72,
  'LISTENER_NOT_FOUND',
  RETRIABLE,
  'There is no listener on the leader broker that matches the listener on which metadata request was processed.',
)
export const TOPIC_DELETION_DISABLED = refusal(73, 'TOPIC_DELETION_DISABLED', FINAL, 'Topic deletion is disabled.')
export const FENCED_LEADER_EPOCH = refusal(
  74,
  'FENCED_LEADER_EPOCH',
  RETRIABLE,
  'The leader epoch in the request is older than the epoch on the broker.',
)
export const UNKNOWN_LEADER_EPOCH = refusal(
  75,
  'UNKNOWN_LEADER_EPOCH',
  RETRIABLE,
  'The leader epoch in the request is newer than the epoch on the broker.',
)
export const UNSUPPORTED_COMPRESSION_TYPE = refusal(
  76,
  'UNSUPPORTED_COMPRESSION_TYPE',
  FINAL,
  'The requesting client does not support the compression type of given partition.',
)
export const STALE_BROKER_EPOCH = refusal(77, 'STALE_BROKER_EPOCH', FINAL, 'Broker epoch has changed.')
export const OFFSET_NOT_AVAILABLE = refusal(
  78,
  'OFFSET_NOT_AVAILABLE',
  RETRIABLE,
  'The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed to be monotonically increasing.',
)
export const MEMBER_ID_REQUIRED = refusal(
  79,
  'MEMBER_ID_REQUIRED',
  FINAL,
  'The group member needs to have a valid member id before actually entering a consumer group.',
)
export const PREFERRED_LEADER_NOT_AVAILABLE = refusal(
  80,
  'PREFERRED_LEADER_NOT_AVAILABLE',
  RETRIABLE,
  'The preferred leader was not available.',
)
export const GROUP_MAX_SIZE_REACHED = refusal(
  81,
  'GROUP_MAX_SIZE_REACHED',
  FINAL,
  'The group has reached its maximum size.',
)
export const FENCED_INSTANCE_ID = refusal(
  82,
  'FENCED_INSTANCE_ID',
  FINAL,
  'The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different member.id.',
)
export const ELIGIBLE_LEADERS_NOT_AVAILABLE = refusal(
  83,
  'ELIGIBLE_LEADERS_NOT_AVAILABLE',
  RETRIABLE,
  'Eligible topic partition leaders are not available.',
)
export const ELECTION_NOT_NEEDED = refusal(
  84,
  'ELECTION_NOT_NEEDED',
  RETRIABLE,
  'Leader election not needed for topic partition.',
)
export const NO_REASSIGNMENT_IN_PROGRESS = refusal(
  85,
  'NO_REASSIGNMENT_IN_PROGRESS',
  FINAL,
  'No partition reassignment is in progress.',
)
export const GROUP_SUBSCRIBED_TO_TOPIC = refusal(
  86,
  'GROUP_SUBSCRIBED_TO_TOPIC',
  FINAL,
  'Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.',
)
export const INVALID_RECORD = refusal(
  87,
  'INVALID_RECORD',
  FINAL,
  'This record has failed the validation on broker and hence will be rejected.',
)
export const UNSTABLE_OFFSET_COMMIT = refusal(
  88,
  'UNSTABLE_OFFSET_COMMIT',
  RETRIABLE,
  'There are unstable offsets that need to be cleared.',
)
export const THROTTLING_QUOTA_EXCEEDED = refusal(
  89,
  'THROTTLING_QUOTA_EXCEEDED',
  RETRIABLE,
  'The throttling quota has been exceeded.',
)
export const PRODUCER_FENCED = refusal(
  90,
  'PRODUCER_FENCED',
  FINAL,
  'There is a newer producer with the same transactionalId which fences the current one.',
)
export const RESOURCE_NOT_FOUND = refusal(
  91,
  'RESOURCE_NOT_FOUND',
  FINAL,
  'A request illegally referred to a resource that does not exist.',
)
export const DUPLICATE_RESOURCE = refusal(
  92,
  'DUPLICATE_RESOURCE',
  FINAL,
  'A request illegally referred to the same resource twice.',
)
export const UNACCEPTABLE_CREDENTIAL = refusal(
  93,
  'UNACCEPTABLE_CREDENTIAL',
  FINAL,
  'Requested credential would not meet criteria for acceptability.',
)
export const INCONSISTENT_VOTER_SET = refusal(
  94,
  'INCONSISTENT_VOTER_SET',
  FINAL,
  'Indicates that the either the sender or recipient of a voter-only request is not one of the expected voters.',
)
export const INVALID_UPDATE_VERSION = refusal(
  95,
  'INVALID_UPDATE_VERSION',
  FINAL,
  'The given update version was invalid.',
)
export const FEATURE_UPDATE_FAILED = refusal(
  96,
  'FEATURE_UPDATE_FAILED',
  FINAL,
  'Unable to update finalized features due to an unexpected server error.',
)
export const PRINCIPAL_DESERIALIZATION_FAILURE = refusal(
  97,
  'PRINCIPAL_DESERIALIZATION_FAILURE',
  FINAL,
  'Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster security setup.',
)
export const SNAPSHOT_NOT_FOUND = refusal(98, 'SNAPSHOT_NOT_FOUND', FINAL, 'Requested snapshot was not found.')
export const POSITION_OUT_OF_RANGE = refusal(
  99,
  'POSITION_OUT_OF_RANGE',
  FINAL,
  'Requested position is not greater than or equal to zero, and less than the size of the snapshot.',
)
export const UNKNOWN_TOPIC_ID = refusal(100, 'UNKNOWN_TOPIC_ID', RETRIABLE, 'This server does not host this topic ID.')
export const DUPLICATE_BROKER_REGISTRATION = refusal(
  101,
  'DUPLICATE_BROKER_REGISTRATION',
  FINAL,
  'This broker ID is already in use.',
)
export const BROKER_ID_NOT_REGISTERED = refusal(
  102,
  'BROKER_ID_NOT_REGISTERED',
  FINAL,
  'The given broker ID was not registered.',
)
export const INCONSISTENT_TOPIC_ID = refusal(
  103,
  'INCONSISTENT_TOPIC_ID',
  RETRIABLE,
  "The log's topic ID did not match the topic ID in the request.",
)
export const INCONSISTENT_CLUSTER_ID = refusal(
  104,
  'INCONSISTENT_CLUSTER_ID',
  FINAL,
  'The clusterId in the request does not match that found on the server.',
)
export const TRANSACTIONAL_ID_NOT_FOUND = refusal(
  105,
  'TRANSACTIONAL_ID_NOT_FOUND',
  FINAL,
  'The transactionalId could not be found.',
)
export const FETCH_SESSION_TOPIC_ID_ERROR = refusal(
  106,
  'FETCH_SESSION_TOPIC_ID_ERROR',
  RETRIABLE,
  'The fetch session encountered inconsistent topic ID usage.',
)
export const INELIGIBLE_REPLICA = refusal(
  107,
  'INELIGIBLE_REPLICA',
  FINAL,
  'The new ISR contains at least one ineligible replica.',
)
export const NEW_LEADER_ELECTED = refusal(
  108,
  'NEW_LEADER_ELECTED',
  FINAL,
  'The AlterPartition request successfully updated the partition state but the leader has changed.',
)
export const OFFSET_MOVED_TO_TIERED_STORAGE = refusal(
  109,
  'OFFSET_MOVED_TO_TIERED_STORAGE',
  FINAL,
  'The requested offset is moved to tiered storage.',
)
export const FENCED_MEMBER_EPOCH = refusal(
  110,
  'FENCED_MEMBER_EPOCH',
  FINAL,
  'The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin.',
)
export const UNRELEASED_INSTANCE_ID = refusal(
  111,
  'UNRELEASED_INSTANCE_ID',
  FINAL,
  'The instance ID is still used by another member in the consumer group. That member must leave first.',
)
export const UNSUPPORTED_ASSIGNOR = refusal(
  112,
  'UNSUPPORTED_ASSIGNOR',
  FINAL,
  'The assignor or its version range is not supported by the consumer group.',
)
export const STALE_MEMBER_EPOCH = refusal(
  113,
  'STALE_MEMBER_EPOCH',
  FINAL,
  'The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API.',
)
export const MISMATCHED_ENDPOINT_TYPE = refusal(
  114,
  'MISMATCHED_ENDPOINT_TYPE',
  FINAL,
  'The request was sent to an endpoint of the wrong type.',
)
export const UNSUPPORTED_ENDPOINT_TYPE = refusal(
  115,
  'UNSUPPORTED_ENDPOINT_TYPE',
  FINAL,
  'This endpoint type is not supported yet.',
)
export const UNKNOWN_CONTROLLER_ID = refusal(116, 'UNKNOWN_CONTROLLER_ID', FINAL, 'This controller ID is not known.')
export const UNKNOWN_SUBSCRIPTION_ID = refusal(
  117,
  'UNKNOWN_SUBSCRIPTION_ID',
  FINAL,
  'Client sent a push telemetry request with an invalid or outdated subscription ID.',
)
export const TELEMETRY_TOO_LARGE = refusal(
  118,
  'TELEMETRY_TOO_LARGE',
  FINAL,
  'Client sent a push telemetry request larger than the maximum size the broker will accept.',
)
export const INVALID_REGISTRATION = refusal(
  119,
  'INVALID_REGISTRATION',
  FINAL,
  'The controller has considered the broker registration to be invalid.',
)
export const TRANSACTION_ABORTABLE = refusal(
  120,
  'TRANSACTION_ABORTABLE',
  FINAL,
  'The server encountered an error with the transaction. The client can abort the transaction to continue using this transactional ID.',
)
export const INVALID_RECORD_STATE = refusal(
  121,
  'INVALID_RECORD_STATE',
  FINAL,
  'The record state is invalid. The acknowledgement of delivery could not be completed.',
)
export const SHARE_SESSION_NOT_FOUND = refusal(
  122,
  'SHARE_SESSION_NOT_FOUND',
  RETRIABLE,
  'The share session was not found.',
)
export const INVALID_SHARE_SESSION_EPOCH = refusal(
  123,
  'INVALID_SHARE_SESSION_EPOCH',
  RETRIABLE,
  'The share session epoch is invalid.',
)
export const FENCED_STATE_EPOCH = refusal(
  124,
  'FENCED_STATE_EPOCH',
  FINAL,
  'The share coordinator rejected the request because the share-group state epoch did not match.',
)
export const INVALID_VOTER_KEY = refusal(
  125,
  'INVALID_VOTER_KEY',
  FINAL,
  "The voter key doesn't match the receiving replica's key.",
)
export const DUPLICATE_VOTER = refusal(126, 'DUPLICATE_VOTER', FINAL, 'The voter is already part of the set of voters.')
export const VOTER_NOT_FOUND = refusal(127, 'VOTER_NOT_FOUND', FINAL, 'The voter is not part of the set of voters.')
export const INVALID_REGULAR_EXPRESSION = refusal(
  128,
  'INVALID_REGULAR_EXPRESSION',
  FINAL,
  'The regular expression is not valid.',
)
export const REBOOTSTRAP_REQUIRED = refusal(
  129,
  'REBOOTSTRAP_REQUIRED',
  FINAL,
  'Client metadata is stale. The client should rebootstrap to obtain new metadata.',
)
export const STREAMS_INVALID_TOPOLOGY = refusal(
  130,
  'STREAMS_INVALID_TOPOLOGY',
  FINAL,
  'The supplied topology is invalid.',
)
export const STREAMS_INVALID_TOPOLOGY_EPOCH = refusal(
  131,
  'STREAMS_INVALID_TOPOLOGY_EPOCH',
  FINAL,
  'The supplied topology epoch is invalid.',
)
export const STREAMS_TOPOLOGY_FENCED = refusal(
  132,
  'STREAMS_TOPOLOGY_FENCED',
  FINAL,
  'The supplied topology epoch is outdated.',
)
export const SHARE_SESSION_LIMIT_REACHED = refusal(
  133,
  'SHARE_SESSION_LIMIT_REACHED',
  RETRIABLE,
  'The limit of share sessions has been reached.',
)

/** Every refusal, by rising code. */
export const errors: readonly Refusal[] = Object.freeze([
  UNKNOWN_SERVER_ERROR,
  OFFSET_OUT_OF_RANGE,
  CORRUPT_MESSAGE,
  UNKNOWN_TOPIC_OR_PARTITION,
  INVALID_FETCH_SIZE,
  LEADER_NOT_AVAILABLE,
  NOT_LEADER_OR_FOLLOWER,
  REQUEST_TIMED_OUT,
  BROKER_NOT_AVAILABLE,
  REPLICA_NOT_AVAILABLE,
  MESSAGE_TOO_LARGE,
  STALE_CONTROLLER_EPOCH,
  OFFSET_METADATA_TOO_LARGE,
  NETWORK_EXCEPTION,
  COORDINATOR_LOAD_IN_PROGRESS,
  COORDINATOR_NOT_AVAILABLE,
  NOT_COORDINATOR,
  INVALID_TOPIC_EXCEPTION,
  RECORD_LIST_TOO_LARGE,
  NOT_ENOUGH_REPLICAS,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  INVALID_REQUIRED_ACKS,
  ILLEGAL_GENERATION,
  INCONSISTENT_GROUP_PROTOCOL,
  INVALID_GROUP_ID,
  UNKNOWN_MEMBER_ID,
  INVALID_SESSION_TIMEOUT,
  REBALANCE_IN_PROGRESS,
  INVALID_COMMIT_OFFSET_SIZE,
  TOPIC_AUTHORIZATION_FAILED,
  GROUP_AUTHORIZATION_FAILED,
  CLUSTER_AUTHORIZATION_FAILED,
  INVALID_TIMESTAMP,
  UNSUPPORTED_SASL_MECHANISM,
  ILLEGAL_SASL_STATE,
  UNSUPPORTED_VERSION,
  TOPIC_ALREADY_EXISTS,
  INVALID_PARTITIONS,
  INVALID_REPLICATION_FACTOR,
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_CONFIG,
  NOT_CONTROLLER,
  INVALID_REQUEST,
  UNSUPPORTED_FOR_MESSAGE_FORMAT,
  POLICY_VIOLATION,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  DUPLICATE_SEQUENCE_NUMBER,
  INVALID_PRODUCER_EPOCH,
  INVALID_TXN_STATE,
  INVALID_PRODUCER_ID_MAPPING,
  INVALID_TRANSACTION_TIMEOUT,
  CONCURRENT_TRANSACTIONS,
  TRANSACTION_COORDINATOR_FENCED,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  SECURITY_DISABLED,
  OPERATION_NOT_ATTEMPTED,
  KAFKA_STORAGE_ERROR,
  LOG_DIR_NOT_FOUND,
  SASL_AUTHENTICATION_FAILED,
  UNKNOWN_PRODUCER_ID,
  REASSIGNMENT_IN_PROGRESS,
  DELEGATION_TOKEN_AUTH_DISABLED,
  DELEGATION_TOKEN_NOT_FOUND,
  DELEGATION_TOKEN_OWNER_MISMATCH,
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
  DELEGATION_TOKEN_AUTHORIZATION_FAILED,
  DELEGATION_TOKEN_EXPIRED,
  INVALID_PRINCIPAL_TYPE,
  NON_EMPTY_GROUP,
  GROUP_ID_NOT_FOUND,
  FETCH_SESSION_ID_NOT_FOUND,
  INVALID_FETCH_SESSION_EPOCH,
  LISTENER_NOT_FOUND,
  TOPIC_DELETION_DISABLED,
  FENCED_LEADER_EPOCH,
  UNKNOWN_LEADER_EPOCH,
  UNSUPPORTED_COMPRESSION_TYPE,
  STALE_BROKER_EPOCH,
  OFFSET_NOT_AVAILABLE,
  MEMBER_ID_REQUIRED,
  PREFERRED_LEADER_NOT_AVAILABLE,
  GROUP_MAX_SIZE_REACHED,
  FENCED_INSTANCE_ID,
  ELIGIBLE_LEADERS_NOT_AVAILABLE,
  ELECTION_NOT_NEEDED,
  NO_REASSIGNMENT_IN_PROGRESS,
  GROUP_SUBSCRIBED_TO_TOPIC,
  INVALID_RECORD,
  UNSTABLE_OFFSET_COMMIT,
  THROTTLING_QUOTA_EXCEEDED,
  PRODUCER_FENCED,
  RESOURCE_NOT_FOUND,
  DUPLICATE_RESOURCE,
  UNACCEPTABLE_CREDENTIAL,
  INCONSISTENT_VOTER_SET,
  INVALID_UPDATE_VERSION,
  FEATURE_UPDATE_FAILED,
  PRINCIPAL_DESERIALIZATION_FAILURE,
  SNAPSHOT_NOT_FOUND,
  POSITION_OUT_OF_RANGE,
  UNKNOWN_TOPIC_ID,
  DUPLICATE_BROKER_REGISTRATION,
  BROKER_ID_NOT_REGISTERED,
  INCONSISTENT_TOPIC_ID,
  INCONSISTENT_CLUSTER_ID,
  TRANSACTIONAL_ID_NOT_FOUND,
  FETCH_SESSION_TOPIC_ID_ERROR,
  INELIGIBLE_REPLICA,
  NEW_LEADER_ELECTED,
  OFFSET_MOVED_TO_TIERED_STORAGE,
  FENCED_MEMBER_EPOCH,
  UNRELEASED_INSTANCE_ID,
  UNSUPPORTED_ASSIGNOR,
  STALE_MEMBER_EPOCH,
  MISMATCHED_ENDPOINT_TYPE,
  UNSUPPORTED_ENDPOINT_TYPE,
  UNKNOWN_CONTROLLER_ID,
  UNKNOWN_SUBSCRIPTION_ID,
  TELEMETRY_TOO_LARGE,
  INVALID_REGISTRATION,
  TRANSACTION_ABORTABLE,
  INVALID_RECORD_STATE,
  SHARE_SESSION_NOT_FOUND,
  INVALID_SHARE_SESSION_EPOCH,
  FENCED_STATE_EPOCH,
  INVALID_VOTER_KEY,
  DUPLICATE_VOTER,
  VOTER_NOT_FOUND,
  INVALID_REGULAR_EXPRESSION,
  REBOOTSTRAP_REQUIRED,
  STREAMS_INVALID_TOPOLOGY,
  STREAMS_INVALID_TOPOLOGY_EPOCH,
  STREAMS_TOPOLOGY_FENCED,
  SHARE_SESSION_LIMIT_REACHED,
])

const byCode: ReadonlyMap<number, Refusal> = new Map(errors.map(error => [error.code, error]))

/** Returns the refusal of a code; null for 0 and for codes that Kafka does not have. */
export function errorOf(code: number): Refusal | null {
  return byCode.get(code) ?? null
}

/** Returns the same refusal with a sentence that fits the case. */
export function because(error: Refusal, message: string): Refusal {
  return Object.freeze({ ...error, message })
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'refusal'
}
