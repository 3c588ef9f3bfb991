import { Textarea, TextInput } from '@mantine/core';
import { type ChangeEvent, useState } from 'react';
import { textOf, useField, type WidgetProps } from './form.tsx';

/** An emptied input stands for no value, which is refused where one is required, unless the text was empty before. */
function useText({ field, pointer }: WidgetProps) {
  const bound = useField({ field, pointer });
  const [wasEmpty] = useState(bound.value === '');
  const change = (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
    const text = event.currentTarget.value;
    bound.set(text === '' && !wasEmpty ? undefined : text);
  };
  return {
    ...bound.labels,
    value: textOf(bound.value),
    onChange: change,
    readOnly: bound.isReadOnly,
  };
}

export function TextWidget(props: WidgetProps) {
  return <TextInput {...useText(props)} autoComplete="off" />;
}

/** Text of several lines, among them Markdown that is not the body. */
export function LongTextWidget(props: WidgetProps) {
  return <Textarea {...useText(props)} autosize minRows={2} maxRows={16} />;
}

export function UrlWidget(props: WidgetProps) {
  return <TextInput {...useText(props)} inputMode="url" autoComplete="off" spellCheck={false} />;
}
