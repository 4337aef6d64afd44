// The capabilities of this broker, which a page reads before it asks for anything else.

import { describeCapabilities } from '../../admin/capabilities.ts'
import { capabilitiesShape } from '../../api/capabilities.ts'
import { reply, route } from '../route.ts'

export const capabilityRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/capabilities',
    needs: 'viewer',
    verb: 'show capabilities',
    tag: 'brokers',
    doc: 'The build of this broker, its cluster and its store, each capability as on, off or absent, the addresses for Kafka clients, and limits.',
    answers: { 200: capabilitiesShape },
    async answer(_request, rooms) {
      return reply(200, await describeCapabilities(rooms))
    },
  }),
]
