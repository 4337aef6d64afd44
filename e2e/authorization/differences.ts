// The reasons why Ketch answers a request otherwise than Apache Kafka with its StandardAuthorizer, with the same rule:
// each known difference, and the answers that show it. docs/reference/authorization.md lists them.

export interface Difference {
  readonly why: string
  /** `API version, rule: resource: result here, result in Kafka`, as the test writes it. */
  readonly shows: RegExp
}

export const differences: readonly Difference[] = [
  {
    why: 'WRITE on a topic also allows to create it, by CreateTopics or by using it, and DeleteRecords, because Kafka Streams needs both and no rule grants CREATE or DELETE. In Kafka they need rules of their own.',
    shows:
      /^(CreateTopics|DeleteRecords|Metadata) \d+, TOPIC WRITE \S+: (a|auto-1): shown, TOPIC_AUTHORIZATION_FAILED$/,
  },
  {
    why: 'READ or WRITE on a topic, and READ on a group, also allow DescribeConfigs of it, because no rule grants DESCRIBE_CONFIGS. In Kafka this needs a rule of its own.',
    shows:
      /^DescribeConfigs \d+, (TOPIC (READ|WRITE)|GROUP READ) \S+: [ag]: shown, (TOPIC|GROUP)_AUTHORIZATION_FAILED$/,
  },
  {
    why: "WRITE on a group allows its deletion, as DELETE does in Kafka. In Kafka DELETE also allows to describe the group and to read its offsets. Here this is READ's.",
    shows: /^(OffsetFetch|DescribeGroups|ListGroups) \d+, GROUP WRITE \S+: /,
  },
  {
    why: 'There are no transactions, so Produce with a transactional id is refused as a whole. Kafka looks at the id only if the records belong to a transaction.',
    shows: /^Produce 9, .*: a: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, /,
  },
  {
    why: 'There are no followers, so a Fetch with a replica id is refused as a whole with CLUSTER_AUTHORIZATION_FAILED. Kafka refuses its partitions with TOPIC_AUTHORIZATION_FAILED.',
    shows: /^Fetch 1[25], .*: (whole: CLUSTER_AUTHORIZATION_FAILED, shown|a: absent, TOPIC_AUTHORIZATION_FAILED)$/,
  },
]
