// The thread that trains one dictionary and ends.

import { parentPort, workerData } from 'node:worker_threads'
import { type TrainingInput, trainDictionary } from './dictionary-training.ts'

parentPort!.postMessage(trainDictionary(workerData as TrainingInput))
