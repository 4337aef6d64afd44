// The rules of the topic configs of the remote tier, in the words of Apache Kafka's LogConfig. topic-configs.ts has the
// table of the configs, and this file the combinations that are refused.

/** The values of the configs that the rules read, as TopicConfigs has them. */
export interface TierConfigs {
  readonly cleanupPolicy: readonly string[]
  readonly localRetentionBytes: number
  readonly localRetentionMs: number
  readonly remoteLogCopyDisable: boolean
  readonly remoteLogDeleteOnDisable: boolean
  readonly remoteStorageEnable: boolean
  readonly retentionBytes: number
  readonly retentionMs: number
}

export interface RemoteFacts {
  /** True if an override asks for the remote tier, or a pattern does and the topic has had it. */
  readonly isAsked: boolean
  /** Whether this broker has a remote tier. */
  readonly hasTier: boolean
  readonly wasRemote: boolean
}

/** Returns the reason why the configs of a topic cannot go together; null if they can. */
export function checkRemoteConfigs(configs: TierConfigs, { isAsked, hasTier, wasRemote }: RemoteFacts): string | null {
  const { remoteStorageEnable, remoteLogDeleteOnDisable, cleanupPolicy } = configs
  const isCompacted = cleanupPolicy.includes('compact')
  if (!remoteStorageEnable && !(isAsked && isCompacted))
    return wasRemote && !remoteLogDeleteOnDisable ? BARE_SWITCH_OFF : null
  if (!hasTier) return NO_TIER
  if (isCompacted) return COMPACTED
  return checkLocal('bytes', configs) ?? checkLocal('ms', configs) ?? checkReadOnly(configs)
}

const BARE_SWITCH_OFF =
  'It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and ' +
  'turn to read only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable ' +
  'remote storage and delete all remote data, please set ' +
  '`remote.storage.enable=false,remote.log.delete.on.disable=true`.'

const NO_TIER =
  'Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.'

const COMPACTED =
  'Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.'

type Unit = 'bytes' | 'ms'

function limitsOf(unit: Unit, configs: TierConfigs): { readonly local: number; readonly total: number } {
  return unit === 'ms'
    ? { local: configs.localRetentionMs, total: configs.retentionMs }
    : { local: configs.localRetentionBytes, total: configs.retentionBytes }
}

function checkLocal(unit: Unit, configs: TierConfigs): string | null {
  const { local, total } = limitsOf(unit, configs)
  if (total === -1 || local === -2) return null
  const said = `Invalid value ${local} for configuration local.retention.${unit}: Value must not be`
  if (local === -1) return `${said} -1 as retention.${unit} value is set as ${total}.`
  return local > total ? `${said} more than retention.${unit} property value: ${total}` : null
}

function checkReadOnly(configs: TierConfigs): string | null {
  if (!configs.remoteLogCopyDisable) return null
  const differs = (['bytes', 'ms'] as const).find(unit => {
    const { local, total } = limitsOf(unit, configs)
    return local !== -2 && local !== total
  })
  if (differs === undefined) return null
  return (
    `When \`remote.log.copy.disable\` is set to true, the \`local.retention.${differs}\` and ` +
    `\`retention.${differs}\` must be set to the identical value because there will be no more logs copied to the ` +
    'remote storage.'
  )
}
