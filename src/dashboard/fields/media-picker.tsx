import { Alert, Button, FileButton, Group, Modal, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconFile, IconSearch, IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { FindMedia } from '../documents.ts';
import { fileAddress, type StoredFile } from '../lib/media.ts';
import { uploadDirectory } from '../lib/upload.ts';
import { Waiting } from '../shell/states.tsx';
import classes from './fields.module.css';
import { useForm } from './form.tsx';

interface MediaPickerProps {
  isImage: boolean;
  /** How the entry names what the file comes beside, or takes the place of. */
  named: string | null;
  /** Directory for new files, if one is set besides that of the collection. */
  own: string | null;
  onClose: () => void;
  onTake: (file: StoredFile) => void;
}

/** Searches the files of the content, and takes new ones in. */
export function MediaPicker({ isImage, named, own, onClose, onTake }: MediaPickerProps) {
  const { t } = useTranslation(['entry', 'common']);
  const { place } = useForm();
  const [q, setQ] = useState('');
  const [wanted] = useDebouncedValue(q, 200);
  const [isUploading, setUploading] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const { organization, project, branch } = place;
  const [{ data, fetching }] = useQuery({
    query: FindMedia,
    variables: { organization, project, branch, q: wanted || null, type: isImage ? 'image' : null, after: null },
    requestPolicy: 'cache-and-network',
  });
  const files = data?.project?.studio?.media?.nodes ?? [];
  const upload = async (file: File | null) => {
    if (!file) return;
    setUploading(true);
    setFault(null);
    try {
      const stored = await place.upload(file, await uploadDirectory(place, named, own));
      if (stored) onTake(stored);
    } catch (error) {
      setFault((error as Error).message);
    } finally {
      setUploading(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={t(isImage ? 'choose_image' : 'choose_file')} size="lg">
      <Stack>
        <Group gap="xs" align="end" wrap="nowrap">
          <TextInput
            flex={1}
            label={t('search_media')}
            leftSection={<IconSearch size={16} />}
            value={q}
            onChange={(event) => setQ(event.currentTarget.value)}
            data-autofocus
          />
          <FileButton onChange={upload} {...(isImage && { accept: 'image/*' })}>
            {(props) => (
              <Button {...props} leftSection={<IconUpload size={16} />} loading={isUploading}>
                {t('upload')}
              </Button>
            )}
          </FileButton>
        </Group>
        {fault && (
          <Alert color="red" role="alert">
            {fault}
          </Alert>
        )}
        {fetching && !data && <Waiting rows={4} />}
        {data && files.length === 0 && <Text c="dimmed">{t(q === '' ? 'no_media' : 'nothing_found')}</Text>}
        <ul className={classes.grid}>
          {files.map((file) => (
            <li key={file.path}>
              <UnstyledButton className={classes.choice} onClick={() => onTake(file)} title={file.path}>
                {file.mime?.startsWith('image/') ? (
                  <img src={fileAddress(place, file.path)} alt="" loading="lazy" />
                ) : (
                  <IconFile stroke={1.2} />
                )}
                <span dir="auto">{file.name}</span>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      </Stack>
    </Modal>
  );
}
