export { AesSecretBox } from './aes-secret-box.js';
export { createSecretBox, createSecretBoxFromFile, loadOrCreateKeyFile } from './encryption-keys.js';
