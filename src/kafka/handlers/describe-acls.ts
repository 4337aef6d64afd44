// DescribeAcls 1-3 (KIP-140, KIP-290): lists the rules that match a filter. acls.ts says how a rule is a binding of
// Kafka. Rules of a principal that this version cannot read are left out.

import { listAcls } from '../../admin/acls.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { describeAcls } from '../../protocol/messages/describe-acls.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { ACLS_OFF, bindingOf, checkFilter, isMatch } from '../acls.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

type Answer = ResponseInput<typeof describeAcls>

export const describeAclsHandler = handler(describeAcls, rooms => ({
  needs: () => [onCluster('DESCRIBE')],
  async answer({ body, connection }) {
    if (connection.policy === null) return refuse(ACLS_OFF)
    const invalid = checkFilter(body)
    if (invalid !== null) return refuse(invalid)
    const { rules } = await listAcls(rooms)
    const bindings = rules.map(bindingOf).filter(binding => isMatch(body, binding))
    const keyOf = ({ resourceType, patternType, resourceName }: (typeof bindings)[number]) =>
      `${resourceType}:${patternType}:${resourceName}`
    const resources = Array.from(Map.groupBy(bindings, keyOf).values(), acls => {
      const { resourceType, resourceName, patternType } = acls[0]!
      return { resourceType, resourceName, patternType, acls }
    })
    return { errorCode: NONE, errorMessage: null, resources }
  },
  refused: (_request, refusal) => refuse(refusal),
}))

function refuse({ code, message }: Refusal): Answer {
  return { errorCode: code, errorMessage: message, resources: [] }
}
