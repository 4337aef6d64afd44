// The information about leadership that the logs need. The logs decide nothing about leadership: cluster/ decides, and
// broker.ts provides this interface.

export interface Leadership {
  /** Whether this broker leads the partition, in its own view. */
  leads(topicId: string, index: number): boolean
  /** False while another broker may have taken over. Then this broker must neither answer nor append. */
  readonly isConfirmed: boolean
  /** Returns the highest known leader epoch of the partition, or -1. */
  epochOf(topicId: string, index: number): number
  /** Reports that this broker has the lead of the stream, with this epoch. */
  led(topicId: string, index: number, epoch: number): void
  /**
   * Called when another broker has taken the lead of a stream. Looks again and resolves with whether this broker should
   * still lead it. Never fails.
   */
  stillLeads(topicId: string, index: number): Promise<boolean>
}

/** The leadership of a broker that is alone on its store. */
export const SOLE_LEADERSHIP: Leadership = Object.freeze({
  leads: () => true,
  isConfirmed: true,
  epochOf: () => -1,
  led() {},
  stillLeads: async () => true,
})
