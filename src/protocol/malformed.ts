// What the decoders throw when bytes are not a message. The connection that sent them is closed and the reason counted.

export class Malformed extends Error {
  override readonly name = 'Malformed'
  /** The field at which reading stopped, such as `topicData.partitionData.index`. */
  readonly field: string

  /** The reason says what was wrong, without bytes of the message. */
  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`)
    this.field = field
  }
}
