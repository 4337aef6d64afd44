// The facts about leadership that the logs need. They decide nothing about it: cluster/ does, and broker.ts brings it
// into this shape.

export interface Leadership {
  /** Whether this broker leads the partition, in its own view. */
  leads(topicId: string, index: number): boolean
  /** False while another broker may have taken over. Then this broker must not answer or append. */
  readonly isConfirmed: boolean
  /** The highest known leader epoch of the partition, or -1. */
  epochOf(topicId: string, index: number): number
  /** This broker has the lead of the stream, with this epoch. */
  led(topicId: string, index: number, epoch: number): void
  /**
   * Another broker has taken the lead of a stream: looks again, and says whether this broker should still lead it.
   * Never fails.
   */
  stillLeads(topicId: string, index: number): Promise<boolean>
}

/** For a broker that is alone on its store. */
export const SOLE_LEADERSHIP: Leadership = Object.freeze({
  leads: () => true,
  isConfirmed: true,
  epochOf: () => -1,
  led() {},
  stillLeads: async () => true,
})
