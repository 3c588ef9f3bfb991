import { Alert, Button, Checkbox, PasswordInput, Stack, TextInput } from '@mantine/core';
import type { CombinedError } from '@urql/core';
import { type FormEvent, useRef, useState } from 'react';
import { type Fault, faultOf } from '../../lib/faults.ts';

export interface Field {
  /** Of the command's input. */
  name: string;
  label: string;
  type: 'text' | 'email' | 'password' | 'checkbox';
  /** What a browser or a password manager may fill in (HTML, "autofill"). */
  autoComplete: string;
  hint?: string;
  /** It may be left empty, and is left out then. */
  isOptional?: true;
}

type Values = Record<string, string | boolean>;

interface FormProps {
  fields: readonly Field[];
  submit: string;
  /** What a refusal means here, by the server's code, or by the JSON Pointer of an input that no field shows. */
  explain?: Readonly<Record<string, string>>;
  /** Sends what was filled in. */
  onSubmit: (values: Values) => Promise<{ error?: CombinedError | undefined }>;
  /** After it was accepted. */
  onDone: () => void;
}

/** A form that sends one command; faults stand beside their fields, and the first has the focus. */
export function Form({ fields, submit, explain = {}, onSubmit, onDone }: FormProps) {
  const [values, setValues] = useState<Values>({});
  const [fault, setFault] = useState<Fault | null>(null);
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  const send = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setFault(null);
    const filledIn = ({ name, type }: Field) => values[name] ?? (type === 'checkbox' ? true : '');
    const filled = fields
      .filter((field) => !field.isOptional || filledIn(field) !== '')
      .map((field): [string, string | boolean] => [field.name, filledIn(field)]);
    const { error } = await onSubmit(Object.fromEntries(filled));
    setSending(false);
    if (!error) return onDone();
    const found = faultOf(error);
    setFault(found);
    const first = fields.find(({ name }) => found.fields.has(`/${name}`));
    form.current?.querySelector<HTMLInputElement>(first ? `[name=${first.name}]` : 'input')?.focus();
  };
  const isOfField = fault !== null && fields.some(({ name }) => fault.fields.has(`/${name}`));
  return (
    <form ref={form} onSubmit={send} noValidate>
      <Stack gap="md">
        {fault && !isOfField && (
          <Alert color="red" role="alert">
            {[fault.reason, ...fault.fields.keys()].map((key) => explain[key]).find(Boolean) ?? fault.message}
          </Alert>
        )}
        {fields.map(({ name, label, type, autoComplete, hint, isOptional }) => {
          const shared = {
            name,
            label,
            description: hint,
            error: fault?.fields.get(`/${name}`),
            onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
              const value = type === 'checkbox' ? currentTarget.checked : currentTarget.value;
              setValues((before) => ({ ...before, [name]: value }));
            },
          };
          if (type === 'checkbox') return <Checkbox key={name} defaultChecked {...shared} />;
          const text = { ...shared, autoComplete, required: !isOptional, withAsterisk: false };
          return type === 'password' ? (
            <PasswordInput key={name} {...text} />
          ) : (
            <TextInput key={name} type={type} {...text} />
          );
        })}
        <Button type="submit" loading={isSending}>
          {submit}
        </Button>
      </Stack>
    </form>
  );
}
