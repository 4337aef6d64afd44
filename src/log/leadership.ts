// What the logs must know of who leads. They decide nothing about it; cluster/ does, and broker.ts says it in this shape.

export interface Leadership {
  /** Whether this broker leads the partition, as far as it sees. */
  leads(topicId: string, index: number): boolean
  /** False while another may have taken over what this broker leads: it must answer nothing then, and take nothing. */
  readonly isConfirmed: boolean
  /** The highest leader epoch that is known of the partition, -1 when none is. */
  epochOf(topicId: string, index: number): number
  /** This broker has the lead of the stream, with this epoch. */
  led(topicId: string, index: number, epoch: number): void
  /** Another has taken the lead of a stream: looks again, and says whether this broker leads it all the same. Never fails. */
  stillLeads(topicId: string, index: number): Promise<boolean>
}

/** Where nobody else is. */
export const SOLE_LEADERSHIP: Leadership = Object.freeze({
  leads: () => true,
  isConfirmed: true,
  epochOf: () => -1,
  led() {},
  stillLeads: async () => true,
})
