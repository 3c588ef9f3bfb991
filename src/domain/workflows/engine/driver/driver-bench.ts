import type { Services } from '../../../services.ts';
import { SharedCommits } from '../../shared-commits.ts';
import { CheckpointWriter } from '../checkpoints/checkpoint-writer.ts';
import { type SlotAnswer, type SlotRequest, takeSlots } from '../take-slots.ts';
import { CallSlots } from '../work/call-slots.ts';

/** What a process gives to all its drivers. */
export interface DriverBench {
  services: Services;
  writer: CheckpointWriter;
  calls: CallSlots;
  /** Asks for a slot; who asks at the same time is answered by one transaction. */
  takeSlot(request: SlotRequest): Promise<SlotAnswer>;
  /** From 0 to 1. */
  random(): number;
}

/** @param calls steps that act at the same time */
export function makeBench(services: Services, calls: number): DriverBench {
  // Whoever takes a slot keeps all others of its key waiting until the disk has it: those that ask together wait once.
  const slots = new SharedCommits<SlotRequest, SlotAnswer>(
    (requests) => services.orm.em.fork().transactional((em) => takeSlots(em, services, requests)),
    { limit: Number.POSITIVE_INFINITY },
  );
  return {
    services,
    writer: new CheckpointWriter(services),
    calls: new CallSlots(calls),
    takeSlot: (request) => slots.add(request),
    random: Math.random,
  };
}
