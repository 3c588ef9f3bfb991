import { Alert } from '@mantine/core';
import type { Fault } from '../lib/faults.ts';

interface FaultAlertProps {
  fault: Fault | null;
  /** JSON Pointers of the fields beside which faults are shown; a fault of one of these needs no alert. */
  beside?: readonly string[];
}

/** Why a command was refused, above the form or in the dialog it was given in. */
export function FaultAlert({ fault, beside = [] }: FaultAlertProps) {
  if (!fault || beside.some((pointer) => fault.fields.has(pointer))) return null;
  return (
    <Alert color="red" role="alert">
      {fault.message}
    </Alert>
  );
}
