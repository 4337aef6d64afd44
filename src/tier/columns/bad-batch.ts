// The refusal of a batch by the encoder. It ends the file.

/** A batch that is damaged, or that does not belong to its segment. */
export class BadBatch extends Error {
  override readonly name = 'BadBatch'
  /** The base offset that the batch says it has; the expected one if it cannot be read. */
  readonly offset: number

  constructor(offset: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.offset = offset
  }

  /** `why` is the end of a sentence about the batch. */
  static because(offset: number, why: string, options?: ErrorOptions): BadBatch {
    return new BadBatch(offset, `the batch at offset ${offset} cannot be archived: ${why}`, options)
  }
}
