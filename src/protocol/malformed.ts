// The error of a decoder if bytes are not a valid message. The broker closes the connection that sent them and counts
// the reason.

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
