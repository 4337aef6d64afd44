// The shapes of the operations that the console uses: the names in the path, the query, the body, and the answer. They
// are types of src/api; operations.ts has the method and the path.

import type { z } from 'zod'
import type {
  AclList,
  aclListQuery,
  aclMatchQuery,
  aclMatchShape,
  GrantedAcl,
  grantShape,
  NewAcl,
  principalAclsShape,
} from '../../src/api/acls.ts'
import type { AgentTools } from '../../src/api/agent-tools.ts'
import type { AuthStatus, SignedIn, SignIn } from '../../src/api/auth.ts'
import type { brokerConfigsShape, brokerListShape } from '../../src/api/brokers.ts'
import type { Capabilities } from '../../src/api/capabilities.ts'
import type {
  Credential,
  CredentialList,
  credentialChangeShape,
  credentialListQuery,
  NewCredential,
  StoredCredential,
} from '../../src/api/credentials.ts'
import type {
  DescribedGroup,
  deletedOffsetsQuery,
  deletedOffsetsShape,
  GroupList,
  groupListQuery,
  lagOfGroupShape,
  Reset,
  ResetRequestBody,
} from '../../src/api/groups.ts'
import type { HealthInFull } from '../../src/api/health.ts'
import type { JudgedTopic, JudgedTopics, judgedTopicsQuery } from '../../src/api/judged-topics.ts'
import type { LoggerChange, LoggerList, LoggerState } from '../../src/api/loggers.ts'
import type {
  MessagePage,
  messagePageQuery,
  messageQuery,
  NewMessages,
  ProducedMessages,
  ShownRecord,
} from '../../src/api/messages.ts'
import type {
  consumerLagQuery,
  consumerLagsShape,
  MetricsSnapshotBody,
  metricsHistoryQuery,
  metricsHistoryShape,
  metricsSnapshotQuery,
  topicMetricsPageShape,
  topicMetricsQuery,
} from '../../src/api/metrics.ts'
import type { JobList, offloadJobQuery, RetriedJobs, ShownJob } from '../../src/api/offload-jobs.ts'
import type {
  CheckedSchema,
  DescribedSchemaSubject,
  NewSchema,
  RegisteredSchema,
  SchemaById,
  SchemaCheck,
  SchemaDeletion,
  SchemaDiff,
  SchemaLevelChange,
  SchemaModeChange,
  SchemaOverview,
  SchemaSubjects,
  SchemaVersion,
  ShownSchemaLevel,
  ShownSchemaMode,
  schemaDeletionQuery,
  schemaDiffQuery,
  schemaSubjectQuery,
  schemaSubjectsQuery,
} from '../../src/api/schemas.ts'
import type { settingListQuery, settingListShape } from '../../src/api/settings.ts'
import type {
  RemoteStorage,
  remoteStorageQuery,
  SegmentDetail,
  SegmentList,
  StartedRound,
  StorageStats,
  segmentsQuery,
  storageQuery,
  storageShape,
  WorkerState,
} from '../../src/api/storage.ts'
import type {
  ConfigChange,
  CreatedTopic,
  DeletedRecords,
  GrownTopic,
  NewPartitions,
  NewTopic,
  RecordDeletion,
  TopicConfigs,
  TopicDescription,
  TopicList,
  topicListQuery,
} from '../../src/api/topics.ts'
import type { NewUser, User, UserChange, UserList, userListQuery } from '../../src/api/users.ts'

/** The members of a query as the console writes them; a member that is null or undefined is left out. */
type Query<S extends z.ZodType> = {
  readonly [Name in keyof z.output<S>]?: string | number | boolean | readonly string[] | null | undefined
}

interface Topic {
  readonly topic: string
}
interface Group {
  readonly group: string
}
interface Username {
  readonly username: string
}
interface Job {
  readonly id: string
}
interface Subject {
  readonly subject: string
}
interface Version extends Subject {
  readonly version: number | 'latest'
}
interface Place extends Topic {
  readonly partition: number
  readonly offset: number
}

/** An operation that is not here takes nothing and answers nothing that the console reads. */
export interface Contract {
  'describe session': { answer: AuthStatus }
  'sign in': { body: SignIn; answer: SignedIn }
  'sign out': { answer: undefined }
  'make first admin': { body: SignIn; answer: SignedIn }

  'show capabilities': { answer: Capabilities }
  'show health in full': { answer: HealthInFull }
  'list brokers': { answer: z.output<typeof brokerListShape> }
  'list configs of broker': { params: { readonly broker: number }; answer: z.output<typeof brokerConfigsShape> }
  'list loggers': { answer: LoggerList }
  'change logger level': { params: { readonly logger: string }; body: LoggerChange; answer: LoggerState }
  'list settings': { query: Query<typeof settingListQuery>; answer: z.output<typeof settingListShape> }
  'show agent tools': { answer: AgentTools }
  'show storage': { query: Query<typeof storageQuery>; answer: z.output<typeof storageShape> }
  'show storage worker': { answer: WorkerState }
  'run storage worker': { answer: StartedRound }
  'list segments of partition': {
    params: Omit<Place, 'offset'>
    query: Query<typeof segmentsQuery>
    answer: SegmentList
  }
  'show segment': { params: Omit<Place, 'offset'> & { readonly base: number }; answer: SegmentDetail }
  'read storage stats': { answer: StorageStats }
  'show remote storage': { query: Query<typeof remoteStorageQuery>; answer: RemoteStorage }
  'list offload jobs': { query: Query<typeof offloadJobQuery>; answer: JobList }
  'retry offload job': { params: Job; answer: ShownJob }
  'cancel offload job': { params: Job; answer: ShownJob }
  'retry failed offload jobs': { body: { readonly topic?: string }; answer: RetriedJobs }

  'read metrics': { query: Query<typeof metricsSnapshotQuery>; answer: MetricsSnapshotBody }
  'read metrics history': { query: Query<typeof metricsHistoryQuery>; answer: z.output<typeof metricsHistoryShape> }
  'read topic metrics': { query: Query<typeof topicMetricsQuery>; answer: z.output<typeof topicMetricsPageShape> }
  'read consumer lag': { query: Query<typeof consumerLagQuery>; answer: z.output<typeof consumerLagsShape> }

  'list topics': { query: Query<typeof topicListQuery>; answer: TopicList }
  'describe topic': { params: Topic; answer: TopicDescription }
  'create topic': { body: NewTopic; answer: CreatedTopic }
  'delete topic': { params: Topic; answer: undefined }
  'describe topic configs': { params: Topic; answer: TopicConfigs }
  'alter topic configs': { params: Topic; body: ConfigChange; answer: TopicConfigs }
  'add partitions': { params: Topic; body: NewPartitions; answer: GrownTopic }
  'delete records': { params: Topic; body: RecordDeletion; answer: DeletedRecords }

  'browse messages': { params: Topic; query: Query<typeof messagePageQuery>; answer: MessagePage }
  'show message': { params: Place; query: Query<typeof messageQuery>; answer: ShownRecord }
  'produce messages': { params: Topic; body: NewMessages; answer: ProducedMessages }

  'list groups': { query: Query<typeof groupListQuery>; answer: GroupList }
  'describe group': { params: Group; answer: DescribedGroup }
  'show lag of group': { params: Group; answer: z.output<typeof lagOfGroupShape> }
  'delete group': { params: Group; answer: undefined }
  'delete offsets of group': {
    params: Group
    query: Query<typeof deletedOffsetsQuery>
    answer: z.output<typeof deletedOffsetsShape>
  }
  'reset offsets of group': { params: Group; body: ResetRequestBody; answer: Reset }

  'describe schema registry': { answer: SchemaOverview }
  'list schema subjects': { query: Query<typeof schemaSubjectsQuery>; answer: SchemaSubjects }
  'describe schema subject': {
    params: Subject
    query: Query<typeof schemaSubjectQuery>
    answer: DescribedSchemaSubject
  }
  'show schema version': { params: Version; answer: SchemaVersion }
  'compare schema versions': { params: Version; query: Query<typeof schemaDiffQuery>; answer: SchemaDiff }
  'show schema by id': { params: { readonly id: number }; answer: SchemaById }
  'check schema': { params: Subject; body: SchemaCheck; answer: CheckedSchema }
  'register schema': { params: Subject; body: NewSchema; answer: RegisteredSchema }
  'delete schema subject': { params: Subject; query: Query<typeof schemaDeletionQuery>; answer: SchemaDeletion }
  'delete schema version': { params: Version; query: Query<typeof schemaDeletionQuery>; answer: SchemaDeletion }
  'show global schema level': { answer: ShownSchemaLevel }
  'set global schema level': { body: SchemaLevelChange; answer: ShownSchemaLevel }
  'reset global schema level': { answer: ShownSchemaLevel }
  'show schema level': { params: Subject; answer: ShownSchemaLevel }
  'set schema level': { params: Subject; body: SchemaLevelChange; answer: ShownSchemaLevel }
  'reset schema level': { params: Subject; answer: ShownSchemaLevel }
  'show global schema mode': { answer: ShownSchemaMode }
  'set global schema mode': { body: SchemaModeChange; answer: ShownSchemaMode }
  'reset global schema mode': { answer: ShownSchemaMode }
  'show schema mode': { params: Subject; answer: ShownSchemaMode }
  'set schema mode': { params: Subject; body: SchemaModeChange; answer: ShownSchemaMode }
  'reset schema mode': { params: Subject; answer: ShownSchemaMode }
  'list judged topics': { query: Query<typeof judgedTopicsQuery>; answer: JudgedTopics }
  'show judged topic': { params: Topic; answer: JudgedTopic }

  'list users': { query: Query<typeof userListQuery>; answer: UserList }
  'create user': { body: NewUser; answer: User }
  'change user': { params: Username; body: UserChange; answer: User }
  'delete user': { params: Username; answer: undefined }

  'list acls': { query: Query<typeof aclListQuery>; answer: AclList }
  'describe acls': { params: { readonly principal: string }; answer: z.output<typeof principalAclsShape> }
  'match acls': { query: Query<typeof aclMatchQuery>; answer: z.output<typeof aclMatchShape> }
  'create acl': { body: NewAcl; answer: GrantedAcl }
  'delete acl': { params: { readonly principal: string }; query: Query<typeof grantShape>; answer: undefined }

  'list credentials': { query: Query<typeof credentialListQuery>; answer: CredentialList }
  'describe credential': { params: Username; answer: Credential }
  'store credential': { body: NewCredential; answer: StoredCredential }
  'change credential': { params: Username; body: z.input<typeof credentialChangeShape>; answer: Credential }
  'delete credential': { params: Username; answer: undefined }
}

export type Answer<Name extends keyof Contract> = Contract[Name]['answer']

/** The parts of a request that the operation takes. */
export type Asked<Name extends keyof Contract> = Omit<Contract[Name], 'answer'>
