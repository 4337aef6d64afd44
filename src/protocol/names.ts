// Checks the names of topics and the ids of groups. Topics follow Kafka's rules
// (org.apache.kafka.common.internals.Topic#validate). Kafka does not bound group ids, so their rules are ours.

const MAX_TOPIC_NAME_LENGTH = 249

/** The most bytes of a group id. The limit is ours: a group id becomes part of keys in the store. */
const MAX_GROUP_ID_BYTES = 255

/** Returns the reason why the topic name is not allowed, in Kafka's words; null if it is allowed. */
export function checkTopicName(name: string): string | null {
  if (name === '') return 'the empty string is not allowed'
  if (name === '.' || name === '..') return `'${name}' is not allowed`
  if (name.length > MAX_TOPIC_NAME_LENGTH)
    return `the length of '${name}' is longer than the max allowed length ${MAX_TOPIC_NAME_LENGTH}`
  if (!/^[a-zA-Z0-9._-]+$/.test(name))
    return `'${name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`
  return null
}

/** Returns whether the name says that a program keeps the topic for itself, as `__consumer_offsets` does in Kafka. */
export function isInternalTopicName(name: string): boolean {
  return name.startsWith('__')
}

/**
 * Returns the reason why the group id is not allowed; null if it is allowed. The empty id is not allowed, although a
 * few old APIs accept it.
 */
export function checkGroupId(id: string): string | null {
  if (id === '') return 'a group id must not be empty'
  const size = Buffer.byteLength(id)
  if (size > MAX_GROUP_ID_BYTES) return `a group id has at most ${MAX_GROUP_ID_BYTES} bytes, this one has ${size}`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(id)) return 'a group id must not have control characters'
  return null
}
