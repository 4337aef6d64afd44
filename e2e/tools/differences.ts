// The reasons why a verb of Kafka's tools prints something else against Ketch than against Apache Kafka: each known
// difference, the verbs that may show it, and the text that is therefore not compared. All other text must be equal.

export interface Difference {
  /** The text for docs/compatibility.md. */
  readonly why: string
  /** The verbs as compare.ts writes them. */
  readonly commands: RegExp
  readonly hides: readonly (readonly [RegExp, string])[]
}

export const differences: readonly Difference[] = [
  {
    why: 'The feature of eligible leader replicas, with which Kafka formats its storage, sets `min.insync.replicas=1` as a dynamic default of the cluster. Ketch has one replica of everything and no such feature; the value is the same and comes from the default.',
    commands:
      /^kafka-(topics --describe|configs --describe (--topic|--entity-type topics|--broker-defaults|--broker 1))/,
    hides: [
      [/(Configs:) min\.insync\.replicas=1$/gm, '$1'],
      [/(Configs: )min\.insync\.replicas=1,/g, '$1'],
      [/^.*min\.insync\.replicas=1 sensitive.*\n/gm, ''],
    ],
  },
  {
    why: 'Because of that dynamic default Kafka lists every topic as one with overrides. Ketch lists only the topics that have overrides.',
    commands: /^kafka-topics --describe --topics-with-overrides/,
    hides: [[/^Topic: .*Configs: ?\n/gm, '']],
  },
  {
    why: 'Ketch has configs of its own for a topic, and those of a topic whose records a schema registry judges.',
    commands: /^kafka-configs --describe --topic \w+ --all/,
    hides: [
      [/^ (offset\.sequence\.bits|storage\.compression\.type|schema\.validation\.action|confluent\..*)=.*\n/gm, ''],
    ],
  },
  {
    why: "The configs of a broker are the settings of the program. Ketch lists its own names and some of Kafka's; Kafka lists its own.",
    commands: /^kafka-configs --describe --broker 1 --all/,
    hides: [[/^ [\w.-]+=.* sensitive=.*\n/gm, '']],
  },
  {
    why: 'Ketch refuses an unknown setting and names it. Kafka accepts any name for a broker, because a plug-in may use it.',
    commands: /^kafka-configs --alter --broker 1 --add-config no\.such\.config=7/,
    hides: [
      [/^Error while executing config command.*\n/gm, ''],
      [/^.*Unknown config name: no\.such\.config\n/gm, ''],
      [/^Completed updating config for broker 1\.\n/gm, ''],
      [/^exit status \d/gm, ''],
    ],
  },
  {
    why: 'Ketch also names its setting behind a config that cannot be changed.',
    commands: /^kafka-configs --alter --broker 1 --add-config node\.id=7/,
    hides: [[/(Set\(node\.id\))\. node\.id comes from .*$/gm, '$1']],
  },
  {
    why: 'For a bad value Ketch says which values the config accepts; Kafka says which type it has.',
    commands: /^kafka-configs --alter --topic events --add-config retention\.ms=soon/,
    hides: [
      [/retention\.ms: got "soon", takes an integer from -1 to 9223372036854775807/g, 'refused'],
      [/Invalid value soon for configuration retention\.ms: Not a number of type LONG/g, 'refused'],
    ],
  },
  {
    why: 'Ketch names the topic that does not exist; Kafka sends no message with the error.',
    commands: /^kafka-configs --alter --topic nothing/,
    hides: [[/(UnknownTopicOrPartitionException:).*$/gm, '$1']],
  },
  {
    why: 'The leader epochs of a partition begin with 1, and in Kafka with 0; the tool shows the committed epoch.',
    commands: /^kafka-consumer-groups --describe --group readers --verbose/,
    hides: [[/^(readers \w+ \d+) [01] /gm, '$1 0 ']],
  },
  {
    why: 'Ketch allows up to 1,000,000 iterations of SCRAM, and Kafka 16,384. Ketch also names the number and the limit in its refusal.',
    commands: /^kafka-configs --alter --user carol --add-config SCRAM-SHA-256=\[iterations=1000001/,
    hides: [[/(Too many iterations): 1000001; the maximum is 1000000$/gm, '$1']],
  },
  {
    why: 'Ketch has SCRAM-SHA-256 and no SCRAM-SHA-512.',
    commands: /^kafka-configs --alter --user dora --add-config SCRAM-SHA-512/,
    hides: [
      [/^Error while executing config command.*\n/gm, ''],
      [/^.*SCRAM-SHA-512 is not supported; the broker has SCRAM-SHA-256\n/gm, ''],
      [/^Completed updating config for user dora\.\n/gm, ''],
      [/^exit status \d/gm, ''],
    ],
  },
  {
    why: 'Rules in Ketch grant READ and WRITE. DESCRIBE and CREATE follow from them, so they are accepted and not listed.',
    commands: /^kafka-acls --(list|add .*(--producer|--operation Describe))/,
    hides: [
      [/^\s*\(principal=.*operation=(DESCRIBE|CREATE), permissionType=ALLOW\).*\n/gm, ''],
      [/^Acl \(.*operation=(DESCRIBE|CREATE), permissionType=ALLOW\)\) already exists\.\n/gm, ''],
      [/^Adding ACLs for resource .*\n/gm, ''],
    ],
  },
  {
    why: 'Ketch has rules only for topics and groups, without DENY, hosts and all users. It refuses other rules and names the field.',
    commands:
      /^kafka-acls --add .*(--deny-principal|--allow-host|--transactional-id|User:\*|--operation (All|Delete|Alter))/,
    hides: [[/^.*$/s, '']],
  },
  {
    why: 'Not in this version of Ketch: transactions, security, replication, the groups of KIP-848, KIP-932 and KIP-1071, and APIs that only a KRaft quorum has. ApiVersions does not list them.',
    commands: /^kafka-broker-api-versions/,
    hides: [
      [
        /^\s(AddPartitionsToTxn|AddOffsetsToTxn|EndTxn|WriteTxnMarkers|TxnOffsetCommit|CreateDelegationToken|RenewDelegationToken|ExpireDelegationToken|DescribeDelegationToken|UpdateFeatures|UnregisterBroker|DescribeTransactions|ListTransactions|ConsumerGroupHeartbeat|ConsumerGroupDescribe|ShareGroupHeartbeat|ShareGroupDescribe|ShareFetch|ShareAcknowledge|AddRaftVoter|RemoveRaftVoter|InitializeShareGroupState|ReadShareGroupState|WriteShareGroupState|DeleteShareGroupState|ReadShareGroupStateSummary|StreamsGroupHeartbeat|StreamsGroupDescribe|DescribeShareGroupOffsets|AlterShareGroupOffsets|DeleteShareGroupOffsets)\(\d+\): .*\n/gm,
        '',
      ],
    ],
  },
]
