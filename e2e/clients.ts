// Every client that the tests drive in the same way. Each says itself whether this machine has it.

import type { Client } from './client.ts'
import { confluentJs } from './confluent-js/client.ts'
import { javaConsole } from './java/client.ts'
import { javaClients } from './java/records.ts'
import { kafkaJs } from './kafkajs/client.ts'
import { kcat } from './kcat/client.ts'
import { platformatic } from './platformatic/client.ts'
import { confluentPython, kafkaPython } from './python/client.ts'

export const CLIENTS: readonly Client[] = [
  kcat,
  kafkaJs,
  platformatic,
  confluentJs,
  kafkaPython,
  confluentPython,
  javaConsole,
  ...javaClients,
]
